// SPDX-License-Identifier: Apache-2.0
//! Tensors in the host's memory: what engines take and give.
use crate::error::text;
use crate::Error;
use bessemer_sys::{bsm_array, bsm_dims, bsm_dtype_name, bsm_dtype_size, BSM_MAX_RANK};
use std::fmt;
use std::os::raw::{c_int, c_void};

/// The dtype of elements. The numbers are PyTorch's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DType(pub(crate) c_int);

impl DType {
    pub const UINT8: DType = DType(0);
    pub const INT8: DType = DType(1);
    pub const INT16: DType = DType(2);
    pub const INT32: DType = DType(3);
    pub const INT64: DType = DType(4);
    pub const FLOAT16: DType = DType(5);
    pub const FLOAT32: DType = DType(6);
    pub const FLOAT64: DType = DType(7);
    pub const BOOL: DType = DType(11);
    pub const BFLOAT16: DType = DType(15);

    /// PyTorch's name, such as "float32".
    pub fn name(self) -> &'static str {
        unsafe { text(bsm_dtype_name(self.0)) }
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        unsafe { bsm_dtype_size(self.0) }
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type of Rust that is a dtype, of which any bits are a value.
pub trait Element: Copy + sealed::Sealed {
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident)*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}
elements! {
    u8 => UINT8 i8 => INT8 i16 => INT16 i32 => INT32 i64 => INT64 f32 => FLOAT32 f64 => FLOAT64
}

/// A contiguous tensor that owns its memory.
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    dims: Vec<i64>,
    // In words, so that elements of every dtype are aligned.
    words: Vec<u64>,
    bytes: usize,
}

fn bytes_of(dtype: DType, dims: &[i64]) -> Result<usize, Error> {
    let invalid = || Error::invalid(format!("there is no tensor of dims {dims:?}"));
    if dims.len() > BSM_MAX_RANK {
        return Err(invalid());
    }
    dims.iter()
        .try_fold(dtype.size(), |bytes, &d| {
            bytes.checked_mul(usize::try_from(d).ok()?)
        })
        .filter(|&bytes| bytes <= isize::MAX as usize)
        .ok_or_else(invalid)
}

impl Tensor {
    /// Zeros.
    pub fn zeros(dtype: DType, dims: &[i64]) -> Result<Tensor, Error> {
        if dtype.size() == 0 {
            return Err(Error::invalid(format!("{} is no dtype", dtype.0)));
        }
        let bytes = bytes_of(dtype, dims)?;
        let words = vec![0; (bytes + 7) / 8];
        Ok(Tensor {
            dtype,
            dims: dims.to_vec(),
            words,
            bytes,
        })
    }

    /// A copy of `data`, in row-major order.
    pub fn from_slice<T: Element>(dims: &[i64], data: &[T]) -> Result<Tensor, Error> {
        let mut tensor = Tensor::zeros(T::DTYPE, dims)?;
        let into = tensor.as_mut_slice::<T>()?;
        if into.len() != data.len() {
            return Err(Error::invalid(format!(
                "dims {:?} are {} elements, not {}",
                dims,
                into.len(),
                data.len()
            )));
        }
        into.copy_from_slice(data);
        Ok(tensor)
    }

    /// The same for bools, which are bytes.
    pub fn from_bools(dims: &[i64], data: &[bool]) -> Result<Tensor, Error> {
        let bytes: Vec<u8> = data.iter().map(|&b| b as u8).collect();
        let mut tensor = Tensor::from_slice(dims, &bytes)?;
        tensor.dtype = DType::BOOL;
        Ok(tensor)
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// The elements, where they are of the type `T`.
    pub fn as_slice<T: Element>(&self) -> Result<&[T], Error> {
        self.expect::<T>()?;
        let count = self.bytes / std::mem::size_of::<T>();
        // Initialized, aligned to 8 bytes, and any bits are a T.
        Ok(unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), count) })
    }

    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], Error> {
        self.expect::<T>()?;
        let count = self.bytes / std::mem::size_of::<T>();
        Ok(unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), count) })
    }

    /// The bytes of the elements, of any dtype: those of halfs, or bools.
    pub fn as_bytes(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }

    fn expect<T: Element>(&self) -> Result<(), Error> {
        if self.dtype == T::DTYPE {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a tensor of {} has no elements of {}",
            self.dtype.name(),
            T::DTYPE.name()
        )))
    }

    /// As the C API sees it. Whoever writes there has the tensor mutably.
    pub(crate) fn array(&self) -> bsm_array {
        let mut dims = bsm_dims {
            rank: self.dims.len() as i32,
            d: [0; BSM_MAX_RANK],
        };
        dims.d[..self.dims.len()].copy_from_slice(&self.dims);
        bsm_array {
            data: self.words.as_ptr() as *mut c_void,
            dtype: self.dtype.0,
            dims,
            strides: std::ptr::null(),
            space: 0,
            device: 0,
        }
    }

    /// A copy of what the library has computed.
    ///
    /// # Safety
    /// `array` is contiguous, in the host's memory.
    pub(crate) unsafe fn copy_of(array: &bsm_array) -> Result<Tensor, Error> {
        let dims = &array.dims.d[..array.dims.rank as usize];
        let mut tensor = Tensor::zeros(DType(array.dtype), dims)?;
        if tensor.bytes > 0 {
            let from = array.data.cast::<u8>();
            std::ptr::copy_nonoverlapping(from, tensor.words.as_mut_ptr().cast(), tensor.bytes);
        }
        Ok(tensor)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({:?}, {:?})", self.dtype, self.dims)
    }
}
