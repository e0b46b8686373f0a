// SPDX-License-Identifier: Apache-2.0
//! Failures: the status of the C API as an error.
use bessemer_sys::{bsm_status, bsm_status_code, bsm_status_free, bsm_status_message};
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::{c_char, c_int};

/// The kind of a failure, as `bsm_code` of `bessemer/status.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    InvalidArgument,
    OutOfMemory,
    Unsupported,
    Corrupt,
    Limit,
    Io,
    Version,
    NotFound,
    OutOfRange,
    DataDependent,
    Raised,
    Internal,
    Device,
    Untrusted,
    Cancelled,
    Other(i32),
}

impl Code {
    fn from_c(code: c_int) -> Code {
        match code {
            1 => Code::InvalidArgument,
            2 => Code::OutOfMemory,
            3 => Code::Unsupported,
            4 => Code::Corrupt,
            5 => Code::Limit,
            6 => Code::Io,
            7 => Code::Version,
            8 => Code::NotFound,
            9 => Code::OutOfRange,
            10 => Code::DataDependent,
            11 => Code::Raised,
            12 => Code::Internal,
            13 => Code::Device,
            14 => Code::Untrusted,
            15 => Code::Cancelled,
            other => Code::Other(other),
        }
    }
}

/// What failed, and why: the message has the cause in front, and what was being
/// done on the lines after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    message: String,
}

impl Error {
    pub fn code(&self) -> Code {
        self.code
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn invalid(message: String) -> Error {
        Error {
            code: Code::InvalidArgument,
            message,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Consumes a status.
pub(crate) fn check(status: bsm_status) -> Result<(), Error> {
    if status.is_null() {
        return Ok(());
    }
    // The status is ours, and freed once, after its message was copied.
    unsafe {
        let code = Code::from_c(bsm_status_code(status));
        let message = CStr::from_ptr(bsm_status_message(status))
            .to_string_lossy()
            .into_owned();
        bsm_status_free(status);
        Err(Error { code, message })
    }
}

/// A string of the library as long as the caller says that it lives.
///
/// # Safety
/// `text` is a C string that lives for `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> &'a str {
    CStr::from_ptr(text).to_str().unwrap_or("?")
}

pub(crate) fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::invalid(format!("{text:?} has a NUL in it")))
}
