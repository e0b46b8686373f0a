// SPDX-License-Identifier: Apache-2.0
//! Compiles the digits model and classifies the scans beside it:
//! cargo run --example digits FOLDER
use bessemer::{CompileOptions, Input, Module, Tensor};
use std::fs;

/// The bytes of an .npy file's elements: its header ends with a line.
fn elements(path: &str) -> std::io::Result<Vec<u8>> {
    let file = fs::read(path)?;
    let length = u16::from_le_bytes([file[8], file[9]]) as usize;
    Ok(file[10 + length..].to_vec())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: digits FOLDER")?;
    let pixels = elements(&format!("{folder}/digits_images.npy"))?;
    let labels = elements(&format!("{folder}/digits_labels.npy"))?;
    let count = labels.len() / 8;

    let options = CompileOptions {
        inputs: Some(vec![Input::new(&[count as i64, 1, 8, 8])]),
        no_timing: true,
        ..Default::default()
    };
    let engine = Module::load(&format!("{folder}/digits.ts"))?.compile(&options)?;
    let mut context = engine.context(&Default::default())?;
    let mut images = Tensor::from_slice(&[count as i64, 1, 8, 8], &vec![0f32; count * 64])?;
    images.as_mut_bytes().copy_from_slice(&pixels);
    let results = context.run(&[&images])?;

    let right = results[0]
        .as_slice::<f32>()?
        .chunks(10)
        .zip(labels.chunks(8))
        .filter(|(scores, label)| {
            let best = (0..10).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
            best == Some(label[0] as usize)
        })
        .count();
    println!("{right} of {count} are right");
    Ok(())
}
