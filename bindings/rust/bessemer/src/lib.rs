// SPDX-License-Identifier: Apache-2.0
//! Bessemer turns PyTorch models into standalone inference engines. This crate
//! loads engines and runs them; with the feature `compiler`, which is on by
//! default, it compiles models too.
//!
//! ```no_run
//! # #[cfg(feature = "compiler")] fn main() -> Result<(), bessemer::Error> {
//! use bessemer::{CompileOptions, Engine, Module, Tensor};
//!
//! let engine = Module::load("digits.ts")?.compile(&CompileOptions::default())?;
//! engine.save("digits.bsm")?;
//!
//! let engine = Engine::load("digits.bsm", &Default::default())?;
//! let mut context = engine.context(&Default::default())?;
//! let image = Tensor::from_slice(&[1, 1, 8, 8], &[0f32; 64])?;
//! let results = context.run(&[&image])?;
//! let scores: &[f32] = results[0].as_slice()?;
//! # let _ = scores; Ok(()) }
//! # #[cfg(not(feature = "compiler"))] fn main() {}
//! ```
//!
//! An engine is shared by threads; a context is used by one at a time.
#[cfg(feature = "compiler")]
mod compile;
mod engine;
mod error;
mod tensor;

#[cfg(feature = "compiler")]
pub use compile::{CompileOptions, Input, Module, Precision};
pub use engine::{Binding, Context, ContextOptions, Engine, LoadOptions};
pub use error::{Code, Error};
pub use tensor::{DType, Element, Tensor};

/// The version of the library that the program runs with, such as "0.1.0".
pub fn version() -> &'static str {
    // A static string of ASCII.
    unsafe { error::text(bessemer_sys::bsm_version()) }
}
