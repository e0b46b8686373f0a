// SPDX-License-Identifier: Apache-2.0

package bessemer

// #include <stdlib.h>
// #include <bessemer/bessemer.h>
//
// static bsm_compile_options compile_options(void) {
//   bsm_compile_options made = BSM_COMPILE_OPTIONS_INIT;
//   return made;
// }
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Module is a TorchScript archive, a program of torch.export, or IR text.
type Module struct {
	raw *C.bsm_module
}

// LoadModule reads a model.
func LoadModule(path string) (*Module, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var raw *C.bsm_module
	if err := check(C.bsm_module_load(name, nil, &raw)); err != nil {
		return nil, err
	}
	module := &Module{raw}
	runtime.SetFinalizer(module, func(m *Module) { C.bsm_module_destroy(m.raw) })
	return module, nil
}

// Input is a tensor among the model's parameters: its dtype, and dims or their
// range. Opt and Max may be left out where dims are fixed.
type Input struct {
	DType         DType
	Min, Opt, Max []int64
}

// CompileOptions say how a model is compiled; nil is all defaults.
type CompileOptions struct {
	Inputs                 []Input // nil: the example inputs of the file
	Method                 string  // "": "forward"
	Target                 string  // "cuda", "cpu:avx2,threads=4"; "": this CPU
	Precisions             uint32  // bits of bsm_precision, besides float32
	NoTiming               bool    // choose tactics by estimates
	RequireFullCompilation bool    // nothing is left to the reference library
}

// text is a string of C, or NULL for "".
func text(s string) *C.char {
	if s == "" {
		return nil
	}
	return C.CString(s)
}

func (input *Input) fill(spec *C.bsm_input_spec) error {
	opt, max := input.Opt, input.Max
	if opt == nil {
		opt = input.Min
	}
	if max == nil {
		max = opt
	}
	rank := len(input.Min)
	if rank > C.BSM_MAX_RANK || len(opt) != rank || len(max) != rank {
		return invalid(fmt.Sprintf("%v has no rank", *input))
	}
	spec.dtype = C.bsm_dtype(input.DType)
	spec.rank = C.int32_t(rank)
	for i := range input.Min {
		spec.min[i] = C.int64_t(input.Min[i])
		spec.opt[i] = C.int64_t(opt[i])
		spec.max[i] = C.int64_t(max[i])
	}
	return nil
}

// Compile makes an engine, which does not refer to the module.
func (m *Module) Compile(options *CompileOptions) (*Engine, error) {
	defer runtime.KeepAlive(m)
	given := C.compile_options()
	if options == nil {
		options = &CompileOptions{}
	}
	given.method, given.target = text(options.Method), text(options.Target)
	defer C.free(unsafe.Pointer(given.method))
	defer C.free(unsafe.Pointer(given.target))
	given.precisions = C.uint32_t(options.Precisions)
	given.no_timing = C.bool(options.NoTiming)
	given.require_full_compilation = C.bool(options.RequireFullCompilation)
	if options.Inputs != nil {
		count := len(options.Inputs)
		size := C.size_t(unsafe.Sizeof(C.bsm_input_spec{}))
		memory := C.calloc(C.size_t(count)+1, size)
		defer C.free(memory)
		specs := unsafe.Slice((*C.bsm_input_spec)(memory), count)
		for i := range options.Inputs {
			if err := options.Inputs[i].fill(&specs[i]); err != nil {
				return nil, err
			}
		}
		given.inputs = (*C.bsm_input_spec)(memory)
		given.input_count = C.size_t(count)
	}
	var raw *C.bsm_engine
	if err := check(C.bsm_compile(m.raw, &given, &raw)); err != nil {
		return nil, err
	}
	return newEngine(raw), nil
}
