// SPDX-License-Identifier: Apache-2.0
//! Engines, and contexts that run them.
use crate::error::{c_string, check, text};
use crate::{DType, Error, Tensor};
use bessemer_sys::*;
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

/// How an engine is loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The index of the device among those that the engine was built for.
    pub device: i32,
    /// Run the machine code that engines for GPUs carry, without a signature.
    pub trust_code: bool,
    /// Read the file into memory instead of mapping it.
    pub no_map: bool,
}

/// How a context runs an engine.
#[derive(Clone, Debug, Default)]
pub struct ContextOptions {
    /// Threads; 0: as many as CPUs.
    pub threads: i32,
    /// Stop runs of models that loop on data after so many bytes; 0: a default.
    pub max_run_bytes: u64,
}

/// An input or output of an engine. Dims that range are -1.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    pub name: String,
    pub dtype: DType,
    pub dims: Vec<i64>,
}

/// A compiled model. It does not change, and threads share it.
pub struct Engine {
    raw: *mut bsm_engine,
}

unsafe impl Send for Engine {}
unsafe impl Sync for Engine {}

type GetBinding = unsafe extern "C" fn(*const bsm_engine, usize, *mut bsm_binding) -> bsm_status;

impl Engine {
    /// # Safety
    /// `raw` is an engine that nobody else destroys.
    #[cfg(feature = "compiler")]
    pub(crate) unsafe fn from_raw(raw: *mut bsm_engine) -> Engine {
        Engine { raw }
    }

    /// Maps and checks an engine file. It has to stay as it is for as long as
    /// it is mapped; replace files by renaming.
    pub fn load(path: &str, options: &LoadOptions) -> Result<Engine, Error> {
        let path = c_string(path)?;
        // Zero is every field's default.
        let mut given: bsm_engine_load_options = unsafe { std::mem::zeroed() };
        given.struct_size = std::mem::size_of_val(&given);
        given.device = options.device;
        given.trust_code = options.trust_code;
        given.no_map = options.no_map;
        let mut raw = null_mut();
        check(unsafe { bsm_engine_load(path.as_ptr(), &given, &mut raw) })?;
        Ok(Engine { raw })
    }

    /// Writes the engine; the file appears complete or not at all.
    pub fn save(&self, path: &str) -> Result<(), Error> {
        let path = c_string(path)?;
        check(unsafe { bsm_engine_save(self.raw, path.as_ptr()) })
    }

    fn bindings(&self, count: usize, get: GetBinding) -> Result<Vec<Binding>, Error> {
        (0..count)
            .map(|index| {
                let mut raw: bsm_binding = unsafe { std::mem::zeroed() };
                raw.struct_size = std::mem::size_of_val(&raw);
                check(unsafe { get(self.raw, index, &mut raw) })?;
                let rank = raw.dims.rank.max(0) as usize;
                Ok(Binding {
                    name: unsafe { text(raw.name) }.to_string(),
                    dtype: DType(raw.dtype),
                    dims: raw.dims.d[..rank].to_vec(),
                })
            })
            .collect()
    }

    pub fn inputs(&self) -> Result<Vec<Binding>, Error> {
        self.bindings(
            unsafe { bsm_engine_input_count(self.raw) },
            bsm_engine_input,
        )
    }

    pub fn outputs(&self) -> Result<Vec<Binding>, Error> {
        self.bindings(
            unsafe { bsm_engine_output_count(self.raw) },
            bsm_engine_output,
        )
    }

    /// What the engine was built from, such as "builder.target".
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let key = c_string(key).ok()?;
        let value = unsafe { bsm_engine_metadata(self.raw, key.as_ptr()) };
        // It lives as long as the engine.
        (!value.is_null()).then(|| unsafe { text(value) })
    }

    /// What runs need: all memory is allocated here.
    pub fn context(&self, options: &ContextOptions) -> Result<Context<'_>, Error> {
        let mut given: bsm_context_options = unsafe { std::mem::zeroed() };
        given.struct_size = std::mem::size_of_val(&given);
        given.threads = options.threads;
        given.max_run_bytes = options.max_run_bytes;
        let mut raw = null_mut();
        check(unsafe { bsm_context_create(self.raw, &given, &mut raw) })?;
        Ok(Context {
            raw,
            engine: PhantomData,
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        unsafe { bsm_engine_destroy(self.raw) }
    }
}

/// Runs an engine, for one thread at a time.
pub struct Context<'engine> {
    raw: *mut bsm_context,
    engine: PhantomData<&'engine Engine>,
}

unsafe impl Send for Context<'_> {}

fn arrays<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> Vec<bsm_array> {
    tensors.map(Tensor::array).collect()
}

fn pointer(arrays: &[bsm_array]) -> *const bsm_array {
    if arrays.is_empty() {
        null()
    } else {
        arrays.as_ptr()
    }
}

impl Context<'_> {
    /// One tensor for each input, in order; gives those of the outputs.
    pub fn run(&mut self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let given = arrays(inputs.iter().copied());
        check(unsafe { bsm_context_run_keep(self.raw, pointer(&given), given.len()) })?;
        (0..unsafe { bsm_context_output_count(self.raw) })
            .map(|index| {
                let mut array: bsm_array = unsafe { std::mem::zeroed() };
                check(unsafe { bsm_context_output(self.raw, index, &mut array) })?;
                // Contiguous; it belongs to the context until its next run.
                unsafe { Tensor::copy_of(&array) }
            })
            .collect()
    }

    /// The same into tensors of the caller, of the outputs' dtypes and dims:
    /// nothing is copied.
    pub fn run_into(&mut self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<(), Error> {
        let given = arrays(inputs.iter().copied());
        let into = arrays(outputs.iter());
        check(unsafe {
            bsm_context_run(
                self.raw,
                pointer(&given),
                given.len(),
                pointer(&into),
                into.len(),
            )
        })
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        unsafe { bsm_context_destroy(self.raw) }
    }
}
