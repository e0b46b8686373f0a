// SPDX-License-Identifier: Apache-2.0

package bessemer

// #include <stdlib.h>
// #include <bessemer/bessemer.h>
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

// DType is the dtype of elements. The numbers are PyTorch's.
type DType int

const (
	Uint8    DType = C.BSM_DTYPE_UINT8
	Int8     DType = C.BSM_DTYPE_INT8
	Int16    DType = C.BSM_DTYPE_INT16
	Int32    DType = C.BSM_DTYPE_INT32
	Int64    DType = C.BSM_DTYPE_INT64
	Float16  DType = C.BSM_DTYPE_HALF
	Float32  DType = C.BSM_DTYPE_FLOAT
	Float64  DType = C.BSM_DTYPE_DOUBLE
	Bool     DType = C.BSM_DTYPE_BOOL
	BFloat16 DType = C.BSM_DTYPE_BFLOAT16
)

// String is PyTorch's name, such as "float32".
func (d DType) String() string {
	return C.GoString(C.bsm_dtype_name(C.bsm_dtype(d)))
}

// Size is the number of bytes of one element.
func (d DType) Size() int {
	return int(C.bsm_dtype_size(C.bsm_dtype(d)))
}

// Element is a type of Go that is a dtype.
type Element interface {
	uint8 | int8 | int16 | int32 | int64 | float32 | float64
}

func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case uint8:
		return Uint8
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case float32:
		return Float32
	default:
		return Float64
	}
}

// Tensor is contiguous, in memory of C, which engines use where it is.
type Tensor struct {
	dtype DType
	dims  []int64
	data  unsafe.Pointer
	bytes int
}

// NewTensor makes a tensor of zeros.
func NewTensor(dtype DType, dims ...int64) (*Tensor, error) {
	size := dtype.Size()
	if size == 0 || len(dims) > C.BSM_MAX_RANK {
		return nil, invalid(fmt.Sprintf("there is no tensor of %v with dims %v", dtype, dims))
	}
	bytes := int64(size)
	for _, d := range dims {
		if d < 0 || (d > 0 && bytes > math.MaxInt/d) {
			return nil, invalid(fmt.Sprintf("there is no tensor of dims %v", dims))
		}
		bytes *= d
	}
	data := C.calloc(1, C.size_t(bytes)+1)
	if data == nil {
		return nil, &Error{OutOfMemory, fmt.Sprintf("no memory for a tensor of %d bytes", bytes)}
	}
	t := &Tensor{dtype, append([]int64(nil), dims...), data, int(bytes)}
	runtime.SetFinalizer(t, func(t *Tensor) { C.free(t.data) })
	return t, nil
}

// FromSlice makes a tensor with a copy of data, in row-major order.
func FromSlice[T Element](data []T, dims ...int64) (*Tensor, error) {
	t, err := NewTensor(dtypeOf[T](), dims...)
	if err != nil {
		return nil, err
	}
	into, err := Elements[T](t)
	if err == nil && len(into) != len(data) {
		err = invalid(fmt.Sprintf("dims %v are %d elements, not %d", dims, len(into), len(data)))
	}
	if err != nil {
		return nil, err
	}
	copy(into, data)
	runtime.KeepAlive(t)
	return t, nil
}

// Elements are those of the tensor, in its memory: they can be read and written
// for as long as the tensor is kept.
func Elements[T Element](t *Tensor) ([]T, error) {
	if t.dtype != dtypeOf[T]() {
		return nil, invalid(fmt.Sprintf("a tensor of %v has no elements of %v", t.dtype, dtypeOf[T]()))
	}
	return unsafe.Slice((*T)(t.data), t.bytes/t.dtype.Size()), nil
}

// Bytes are those of the elements, of any dtype: those of halfs, or bools.
func (t *Tensor) Bytes() []byte {
	return unsafe.Slice((*byte)(t.data), t.bytes)
}

// DType is that of the elements.
func (t *Tensor) DType() DType {
	return t.dtype
}

// Dims are the tensor's dimensions.
func (t *Tensor) Dims() []int64 {
	return append([]int64(nil), t.dims...)
}

func dimsOf(raw *C.bsm_dims) []int64 {
	dims := make([]int64, 0, C.BSM_MAX_RANK)
	for i := C.int32_t(0); i < raw.rank; i++ {
		dims = append(dims, int64(raw.d[i]))
	}
	return dims
}

// arraysOf is tensors as the C API sees them, in memory of C, and what frees
// it. They are kept until then.
func arraysOf(tensors []*Tensor) (*C.bsm_array, func()) {
	if len(tensors) == 0 {
		return nil, func() {}
	}
	size := C.size_t(unsafe.Sizeof(C.bsm_array{}))
	memory := C.calloc(C.size_t(len(tensors)), size)
	arrays := unsafe.Slice((*C.bsm_array)(memory), len(tensors))
	for i, t := range tensors {
		arrays[i].data = t.data
		arrays[i].dtype = C.bsm_dtype(t.dtype)
		arrays[i].dims.rank = C.int32_t(len(t.dims))
		for k, d := range t.dims {
			arrays[i].dims.d[k] = C.int64_t(d)
		}
	}
	return &arrays[0], func() {
		C.free(memory)
		runtime.KeepAlive(tensors)
	}
}

// copyOf copies a contiguous array of the host.
func copyOf(array *C.bsm_array) (*Tensor, error) {
	t, err := NewTensor(DType(array.dtype), dimsOf(&array.dims)...)
	if err == nil && t.bytes > 0 {
		copy(t.Bytes(), unsafe.Slice((*byte)(array.data), t.bytes))
	}
	return t, err
}
