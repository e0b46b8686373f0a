// SPDX-License-Identifier: Apache-2.0
//! Compiling models into engines.
use crate::error::{c_string, check};
use crate::{DType, Engine, Error};
use bessemer_sys::*;
use std::ffi::CString;
use std::ptr::{null, null_mut};

/// A TorchScript archive, a program of torch.export, or IR text.
pub struct Module {
    raw: *mut bsm_module,
}

// The library lets one thread compile at a time.
unsafe impl Send for Module {}
unsafe impl Sync for Module {}

/// A tensor among the model's parameters: its dtype, and dims or their range.
#[derive(Clone, Debug)]
pub struct Input {
    pub dtype: DType,
    pub min: Vec<i64>,
    pub opt: Vec<i64>,
    pub max: Vec<i64>,
}

impl Input {
    /// Float32 of fixed dims.
    pub fn new(dims: &[i64]) -> Input {
        Input::range(dims, dims, dims)
    }

    /// Float32 of dims from `min` to `max`; `opt` is what is made fast.
    pub fn range(min: &[i64], opt: &[i64], max: &[i64]) -> Input {
        Input {
            dtype: DType::FLOAT32,
            min: min.to_vec(),
            opt: opt.to_vec(),
            max: max.to_vec(),
        }
    }

    pub fn dtype(mut self, dtype: DType) -> Input {
        self.dtype = dtype;
        self
    }

    fn spec(&self) -> Result<bsm_input_spec, Error> {
        let rank = self.min.len();
        if rank > BSM_MAX_RANK || self.opt.len() != rank || self.max.len() != rank {
            return Err(Error::invalid(format!("{self:?} has no rank")));
        }
        // Zero: a tensor, by position.
        let mut spec: bsm_input_spec = unsafe { std::mem::zeroed() };
        spec.dtype = self.dtype.0;
        spec.rank = rank as i32;
        spec.min[..rank].copy_from_slice(&self.min);
        spec.opt[..rank].copy_from_slice(&self.opt);
        spec.max[..rank].copy_from_slice(&self.max);
        Ok(spec)
    }
}

/// What layers of float32 may compute in, besides float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Tf32 = 2,
    Fp16 = 4,
    Bf16 = 8,
}

/// How a model is compiled.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// None: the example inputs of the file.
    pub inputs: Option<Vec<Input>>,
    /// None: "forward".
    pub method: Option<String>,
    /// "cuda", "cpu:avx2,threads=4"; None: this machine's CPU.
    pub target: Option<String>,
    pub precisions: Vec<Precision>,
    /// Choose tactics by estimates: builds are quick and reproducible.
    pub no_timing: bool,
    /// An operator that would be left to the reference library is an error.
    pub require_full_compilation: bool,
}

fn optional(text: &Option<String>) -> Result<Option<CString>, Error> {
    text.as_deref().map(c_string).transpose()
}

impl Module {
    pub fn load(path: &str) -> Result<Module, Error> {
        let path = c_string(path)?;
        let mut raw = null_mut();
        check(unsafe { bsm_module_load(path.as_ptr(), null(), &mut raw) })?;
        Ok(Module { raw })
    }

    /// The engine does not refer to the module.
    pub fn compile(&self, options: &CompileOptions) -> Result<Engine, Error> {
        let inputs = options.inputs.as_deref().unwrap_or(&[]);
        let specs = inputs
            .iter()
            .map(Input::spec)
            .collect::<Result<Vec<_>, _>>()?;
        let method = optional(&options.method)?;
        let target = optional(&options.target)?;
        // Zero is every field's default.
        let mut given: bsm_compile_options = unsafe { std::mem::zeroed() };
        given.struct_size = std::mem::size_of_val(&given);
        if options.inputs.is_some() {
            given.inputs = specs.as_ptr();
            given.input_count = specs.len();
        }
        given.method = method.as_ref().map_or(null(), |text| text.as_ptr());
        given.target = target.as_ref().map_or(null(), |text| text.as_ptr());
        given.precisions = options.precisions.iter().fold(0, |all, &p| all | p as u32);
        given.no_timing = options.no_timing;
        given.require_full_compilation = options.require_full_compilation;
        let mut raw = null_mut();
        check(unsafe { bsm_compile(self.raw, &given, &mut raw) })?;
        Ok(unsafe { Engine::from_raw(raw) })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        unsafe { bsm_module_destroy(self.raw) }
    }
}
