// SPDX-License-Identifier: Apache-2.0
//! The C API of Bessemer, as far as the crate `bessemer` uses it: the names and
//! contracts are those of `bessemer/engine.h` and `bessemer/compiler.h`.
//!
//! Structs have the fields of this version; the library takes those of older
//! ones, which is what `struct_size` tells. `tests/layout.rs` compares sizes
//! and offsets with the C headers.
#![allow(non_camel_case_types)]
use std::os::raw::{c_char, c_int, c_void};

pub const BSM_MAX_RANK: usize = 12;
pub const BSM_DTYPE_FLOAT: c_int = 6;

macro_rules! opaque {
    ($($(#[$about:meta])* $name:ident)*) => {$(
        $(#[$about])*
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
            _not_send: std::marker::PhantomData<*mut u8>,
        }
    )*};
}
opaque! {
    bsm_status_record bsm_engine bsm_context bsm_module bsm_logger bsm_allocator
    bsm_limits bsm_plugin_registry bsm_thread_pool bsm_structure bsm_calibration
    bsm_conversion_pattern bsm_precision_override
}

/// NULL is success; anything else is freed once.
pub type bsm_status = *mut bsm_status_record;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct bsm_dims {
    pub rank: i32,
    pub d: [i64; BSM_MAX_RANK],
}

#[repr(C)]
pub struct bsm_array {
    pub data: *mut c_void,
    pub dtype: c_int,
    pub dims: bsm_dims,
    pub strides: *const i64,
    pub space: c_int,
    pub device: i32,
}

#[repr(C)]
pub struct bsm_binding {
    pub struct_size: usize,
    pub name: *const c_char,
    pub dtype: c_int,
    pub dims: bsm_dims,
    pub space: c_int,
}

#[repr(C)]
pub struct bsm_engine_load_options {
    pub struct_size: usize,
    pub logger: *const bsm_logger,
    pub allocator: *const bsm_allocator,
    pub max_file_bytes: u64,
    pub skip_checksum: bool,
    pub plugins: *const bsm_plugin_registry,
    pub device: i32,
    pub trust_code: bool,
    pub without_device: bool,
    pub public_keys: *const [u8; 32],
    pub public_key_count: usize,
    pub ignore_built: bool,
    pub no_map: bool,
}

pub type bsm_output_allocate = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        index: usize,
        name: *const c_char,
        dtype: c_int,
        dims: *const bsm_dims,
        bytes: usize,
    ) -> *mut c_void,
>;

#[repr(C)]
pub struct bsm_context_options {
    pub struct_size: usize,
    pub threads: c_int,
    pub pool: *mut bsm_thread_pool,
    pub isa: u32,
    pub logger: *const bsm_logger,
    pub allocator: *const bsm_allocator,
    pub workspace: *mut c_void,
    pub workspace_size: usize,
    pub profile: bool,
    pub output_allocate: bsm_output_allocate,
    pub output_user: *mut c_void,
    pub max_instructions: u64,
    pub max_run_bytes: u64,
    pub max_plans: usize,
    pub stream: *mut c_void,
    pub no_graphs: bool,
    pub keep_tensors: u64,
}

#[repr(C)]
pub struct bsm_input_spec {
    pub kind: c_int,
    pub name: *const c_char,
    pub dtype: c_int,
    pub rank: i32,
    pub min: [i64; BSM_MAX_RANK],
    pub opt: [i64; BSM_MAX_RANK],
    pub max: [i64; BSM_MAX_RANK],
    pub int_value: i64,
    pub float_value: f64,
    pub bool_value: bool,
    pub array: *const bsm_array,
    pub string: *const c_char,
    pub string_length: usize,
    pub items: *const bsm_input_spec,
    pub item_count: usize,
    pub key_kind: c_int,
    pub int_key: i64,
    pub float_key: f64,
}

#[repr(C)]
pub struct bsm_compile_options {
    pub struct_size: usize,
    pub method: *const c_char,
    pub inputs: *const bsm_input_spec,
    pub input_count: usize,
    pub patterns: *const bsm_conversion_pattern,
    pub pattern_count: usize,
    pub isa: u32,
    pub threads: c_int,
    pub no_timing: bool,
    pub timing_cache: *const c_char,
    pub logger: *const bsm_logger,
    pub allocator: *const bsm_allocator,
    pub dump: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>,
    pub dump_user: *mut c_void,
    pub truncate_long_and_double: bool,
    pub require_full_compilation: bool,
    pub fallback_ops: *const *const c_char,
    pub fallback_op_count: usize,
    pub fallback_modules: *const *const c_char,
    pub fallback_module_count: usize,
    pub min_block_size: usize,
    pub target: *const c_char,
    pub precisions: u32,
}

extern "C" {
    pub fn bsm_version() -> *const c_char;
    pub fn bsm_status_code(status: bsm_status) -> c_int;
    pub fn bsm_status_message(status: bsm_status) -> *const c_char;
    pub fn bsm_status_free(status: bsm_status);
    pub fn bsm_dtype_size(dtype: c_int) -> usize;
    pub fn bsm_dtype_name(dtype: c_int) -> *const c_char;

    pub fn bsm_engine_load(
        path: *const c_char,
        options: *const bsm_engine_load_options,
        out: *mut *mut bsm_engine,
    ) -> bsm_status;
    pub fn bsm_engine_save(engine: *const bsm_engine, path: *const c_char) -> bsm_status;
    pub fn bsm_engine_destroy(engine: *mut bsm_engine);
    pub fn bsm_engine_input_count(engine: *const bsm_engine) -> usize;
    pub fn bsm_engine_output_count(engine: *const bsm_engine) -> usize;
    pub fn bsm_engine_input(
        engine: *const bsm_engine,
        index: usize,
        out: *mut bsm_binding,
    ) -> bsm_status;
    pub fn bsm_engine_output(
        engine: *const bsm_engine,
        index: usize,
        out: *mut bsm_binding,
    ) -> bsm_status;
    pub fn bsm_engine_metadata(engine: *const bsm_engine, key: *const c_char) -> *const c_char;

    pub fn bsm_context_create(
        engine: *const bsm_engine,
        options: *const bsm_context_options,
        out: *mut *mut bsm_context,
    ) -> bsm_status;
    pub fn bsm_context_destroy(context: *mut bsm_context);
    pub fn bsm_context_run(
        context: *mut bsm_context,
        inputs: *const bsm_array,
        input_count: usize,
        outputs: *const bsm_array,
        output_count: usize,
    ) -> bsm_status;
    pub fn bsm_context_run_keep(
        context: *mut bsm_context,
        inputs: *const bsm_array,
        input_count: usize,
    ) -> bsm_status;
    pub fn bsm_context_output_count(context: *const bsm_context) -> usize;
    pub fn bsm_context_output(
        context: *mut bsm_context,
        index: usize,
        out: *mut bsm_array,
    ) -> bsm_status;
}

#[cfg(feature = "compiler")]
extern "C" {
    pub fn bsm_module_load(
        path: *const c_char,
        options: *const c_void,
        out: *mut *mut bsm_module,
    ) -> bsm_status;
    pub fn bsm_module_destroy(module: *mut bsm_module);
    pub fn bsm_compile(
        module: *mut bsm_module,
        options: *const bsm_compile_options,
        out: *mut *mut bsm_engine,
    ) -> bsm_status;
}
