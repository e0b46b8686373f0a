// SPDX-License-Identifier: Apache-2.0
//! Compiling and running from Rust. BESSEMER_SOURCE is the folder of Bessemer's
//! sources, for its models.
#![cfg(feature = "compiler")]
use bessemer::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

fn source(path: &str) -> String {
    let root = std::env::var("BESSEMER_SOURCE")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../..").into());
    format!("{root}/{path}")
}

/// A path that no other call gives: tests of this file run in threads of one
/// process, and one removes its files while another reads its own.
fn scratch(name: &str) -> PathBuf {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("bessemer-{}-{call}-{name}", std::process::id()))
}

fn quick() -> CompileOptions {
    CompileOptions {
        no_timing: true,
        ..Default::default()
    }
}

/// y = 2x - 1 on 2 x 3 elements.
fn affine() -> Module {
    let path = scratch("affine.ir");
    std::fs::write(
        &path,
        "graph(%x : Float(2, 3)):\n  %two : float = prim::Constant[value=2.]()\n  \
         %one : int = prim::Constant[value=1]()\n  %m : Tensor = aten::mul(%x, %two)\n  \
         %y : Tensor = aten::sub(%m, %one, %one)\n  return (%y)\n",
    )
    .unwrap();
    let module = Module::load(path.to_str().unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    module
}

#[test]
fn compiles_saves_loads_and_runs() {
    let engine = affine().compile(&quick()).unwrap();
    let saved = scratch("affine.bsm");
    engine.save(saved.to_str().unwrap()).unwrap();
    let engine = Engine::load(saved.to_str().unwrap(), &Default::default()).unwrap();
    std::fs::remove_file(&saved).unwrap();
    let inputs = engine.inputs().unwrap();
    assert_eq!(inputs.len(), 1);
    assert_eq!(inputs[0].name, "x");
    assert_eq!(inputs[0].dtype, DType::FLOAT32);
    assert_eq!(inputs[0].dims, [2, 3]);
    assert_eq!(engine.metadata("builder.version"), Some(version()));
    assert_eq!(engine.metadata("no such key"), None);

    let x = Tensor::from_slice(&[2, 3], &[0f32, 1., 2., 3., -4., 0.5]).unwrap();
    let mut context = engine
        .context(&ContextOptions {
            threads: 1,
            ..Default::default()
        })
        .unwrap();
    let results = context.run(&[&x]).unwrap();
    let expected = [-1f32, 1., 3., 5., -9., 0.];
    assert_eq!(results[0].dims(), [2, 3]);
    assert_eq!(results[0].as_slice::<f32>().unwrap(), expected);
    let mut outputs = [Tensor::zeros(DType::FLOAT32, &[2, 3]).unwrap()];
    context.run_into(&[&x], &mut outputs).unwrap();
    assert_eq!(outputs[0].as_slice::<f32>().unwrap(), expected);
}

#[test]
fn threads_share_an_engine() {
    let engine = affine().compile(&quick()).unwrap();
    std::thread::scope(|scope| {
        for k in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                let mut context = engine.context(&Default::default()).unwrap();
                let x = Tensor::from_slice(&[2, 3], &[k as f32; 6]).unwrap();
                for _ in 0..50 {
                    let y = context.run(&[&x]).unwrap();
                    assert_eq!(y[0].as_slice::<f32>().unwrap(), [k as f32 * 2. - 1.; 6]);
                }
            });
        }
    });
}

#[test]
fn shapes_may_range() {
    let model = Module::load(&source("examples/digits/digits.ts")).unwrap();
    let options = CompileOptions {
        inputs: Some(vec![Input::range(
            &[1, 1, 8, 8],
            &[4, 1, 8, 8],
            &[16, 1, 8, 8],
        )]),
        ..quick()
    };
    let engine = model.compile(&options).unwrap();
    assert_eq!(engine.inputs().unwrap()[0].dims, [-1, 1, 8, 8]);
    let mut context = engine.context(&Default::default()).unwrap();
    let mut first = None;
    for batch in [1, 4, 7, 16] {
        let images = vec![0.5f32; batch as usize * 64];
        let x = Tensor::from_slice(&[batch, 1, 8, 8], &images).unwrap();
        let y = context.run(&[&x]).unwrap();
        assert_eq!(y[0].dims(), [batch, 10]);
        let scores = y[0].as_slice::<f32>().unwrap().to_vec();
        let first = first.get_or_insert_with(|| scores[..10].to_vec());
        for (score, expected) in scores.chunks(10).flatten().zip(first.iter().cycle()) {
            assert!((score - expected).abs() < 1e-4);
        }
    }
    let wide = Tensor::zeros(DType::FLOAT32, &[17, 1, 8, 8]).unwrap();
    let error = context.run(&[&wide]).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("17"), "{error}");
}

#[test]
fn failures_have_their_kind_and_message() {
    let error = Engine::load("/no/such/file.bsm", &Default::default())
        .err()
        .unwrap();
    assert_eq!(error.code(), Code::Io);
    assert!(error.to_string().contains("/no/such/file.bsm"));
    let error = Engine::load(&source("LICENSE"), &Default::default())
        .err()
        .unwrap();
    assert_eq!(error.code(), Code::Corrupt);
    let error = Engine::load("a\0b", &Default::default()).err().unwrap();
    assert_eq!(error.code(), Code::InvalidArgument);

    let model = affine();
    let error = model
        .compile(&CompileOptions {
            target: Some("abacus".into()),
            ..quick()
        })
        .err()
        .unwrap();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("abacus"));
    let engine = model.compile(&quick()).unwrap();
    let mut context = engine.context(&Default::default()).unwrap();
    assert_eq!(context.run(&[]).unwrap_err().code(), Code::InvalidArgument);
    let x = Tensor::from_slice(&[2, 3], &[0i64; 6]).unwrap();
    let error = context.run(&[&x]).unwrap_err();
    assert!(error.message().contains("int64"), "{error}");
}

#[test]
fn tensors_check_types_and_sizes() {
    assert!(Tensor::from_slice(&[2, 2], &[1f32; 3]).is_err());
    assert!(Tensor::zeros(DType::FLOAT32, &[-1]).is_err());
    assert!(Tensor::zeros(DType::FLOAT32, &[i64::MAX, i64::MAX]).is_err());
    assert!(Tensor::zeros(DType::FLOAT32, &[1; 13]).is_err());
    let tensor = Tensor::from_slice(&[3], &[1i64, 2, 3]).unwrap();
    assert!(tensor.as_slice::<f32>().is_err());
    assert_eq!(tensor.as_bytes().len(), 24);
    let bools = Tensor::from_bools(&[2], &[true, false]).unwrap();
    assert_eq!(bools.dtype(), DType::BOOL);
    assert_eq!(bools.as_bytes(), [1, 0]);
    assert_eq!(format!("{bools:?}"), "Tensor(bool, [2])");
    assert!(
        Tensor::zeros(DType::FLOAT32, &[])
            .unwrap()
            .as_slice::<f32>()
            .unwrap()
            .len()
            == 1
    );
}
