// SPDX-License-Identifier: Apache-2.0

// Package bessemer runs, and compiles, PyTorch models without Python.
//
//	module, err := bessemer.LoadModule("digits.ts")
//	engine, err := module.Compile(nil)
//	err = engine.Save("digits.bsm")
//
//	engine, err = bessemer.Load("digits.bsm", nil)
//	context, err := engine.NewContext(nil)
//	results, err := context.Run(image)
//	scores, err := bessemer.Elements[float32](results[0])
//
// An engine is shared by goroutines; a context is used by one at a time.
// pkg-config has to find the package bessemer, or CGO_CFLAGS and CGO_LDFLAGS
// say where it is, with the tag nopkgconfig.
package bessemer

// #include <stdlib.h>
// #include <bessemer/bessemer.h>
//
// /* The library's macros, which cgo cannot read. */
// static bsm_engine_load_options load_options(void) {
//   bsm_engine_load_options made = BSM_ENGINE_LOAD_OPTIONS_INIT;
//   return made;
// }
// static bsm_context_options context_options(void) {
//   bsm_context_options made = BSM_CONTEXT_OPTIONS_INIT;
//   return made;
// }
// static bsm_binding binding(void) {
//   bsm_binding made = BSM_BINDING_INIT;
//   return made;
// }
import "C"

import (
	"runtime"
	"unsafe"
)

// Version is that of the library that the program runs with.
func Version() string {
	return C.GoString(C.bsm_version())
}

// LoadOptions say how an engine is loaded; nil is all defaults.
type LoadOptions struct {
	Device    int  // among the devices that the engine was built for
	TrustCode bool // run the machine code of engines for GPUs unsigned
	NoMap     bool // read the file into memory instead of mapping it
}

// Engine is a compiled model, which does not change.
type Engine struct {
	raw *C.bsm_engine
}

// Binding is an input or output of an engine. Dims that range are -1.
type Binding struct {
	Name  string
	DType DType
	Dims  []int64
}

func newEngine(raw *C.bsm_engine) *Engine {
	engine := &Engine{raw}
	runtime.SetFinalizer(engine, func(e *Engine) { C.bsm_engine_destroy(e.raw) })
	return engine
}

// Load maps and checks an engine file, which has to stay as it is for as long
// as it is mapped; replace files by renaming.
func Load(path string, options *LoadOptions) (*Engine, error) {
	given := C.load_options()
	if options != nil {
		given.device = C.int32_t(options.Device)
		given.trust_code = C.bool(options.TrustCode)
		given.no_map = C.bool(options.NoMap)
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var raw *C.bsm_engine
	if err := check(C.bsm_engine_load(name, &given, &raw)); err != nil {
		return nil, err
	}
	return newEngine(raw), nil
}

// Save writes the engine; the file appears complete or not at all.
func (e *Engine) Save(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	defer runtime.KeepAlive(e)
	return check(C.bsm_engine_save(e.raw, name))
}

// Inputs are what a run takes, in order.
func (e *Engine) Inputs() ([]Binding, error) {
	defer runtime.KeepAlive(e)
	var all []Binding
	for i := C.size_t(0); i < C.bsm_engine_input_count(e.raw); i++ {
		raw := C.binding()
		if err := check(C.bsm_engine_input(e.raw, i, &raw)); err != nil {
			return nil, err
		}
		all = append(all, bindingOf(&raw))
	}
	return all, nil
}

// Outputs are what a run gives, in order.
func (e *Engine) Outputs() ([]Binding, error) {
	defer runtime.KeepAlive(e)
	var all []Binding
	for i := C.size_t(0); i < C.bsm_engine_output_count(e.raw); i++ {
		raw := C.binding()
		if err := check(C.bsm_engine_output(e.raw, i, &raw)); err != nil {
			return nil, err
		}
		all = append(all, bindingOf(&raw))
	}
	return all, nil
}

func bindingOf(raw *C.bsm_binding) Binding {
	return Binding{C.GoString(raw.name), DType(raw.dtype), dimsOf(&raw.dims)}
}

// Metadata is what the engine was built from, such as "builder.target"; ""
// where there is none.
func (e *Engine) Metadata(key string) string {
	defer runtime.KeepAlive(e)
	name := C.CString(key)
	defer C.free(unsafe.Pointer(name))
	return C.GoString(C.bsm_engine_metadata(e.raw, name))
}

// ContextOptions say how a context runs an engine; nil is all defaults.
type ContextOptions struct {
	Threads int // 0: as many as CPUs
}

// Context runs an engine, for one goroutine at a time.
type Context struct {
	raw    *C.bsm_context
	engine *Engine
}

// NewContext allocates what runs need.
func (e *Engine) NewContext(options *ContextOptions) (*Context, error) {
	given := C.context_options()
	if options != nil {
		given.threads = C.int(options.Threads)
	}
	var raw *C.bsm_context
	if err := check(C.bsm_context_create(e.raw, &given, &raw)); err != nil {
		return nil, err
	}
	context := &Context{raw, e}
	runtime.SetFinalizer(context, func(c *Context) { c.destroy() })
	return context, nil
}

// Close gives the context's memory back at once, rather than when it is
// collected. It cannot be used afterwards.
func (c *Context) Close() {
	runtime.SetFinalizer(c, nil)
	c.destroy()
	c.raw = nil
}

// The engine is destroyed after its contexts, in whatever order the two are
// collected.
func (c *Context) destroy() {
	C.bsm_context_destroy(c.raw)
	runtime.KeepAlive(c.engine)
}

// Run takes a tensor for each input, in order, and gives those of the outputs.
func (c *Context) Run(inputs ...*Tensor) ([]*Tensor, error) {
	defer runtime.KeepAlive(c)
	given, free := arraysOf(inputs)
	defer free()
	if err := check(C.bsm_context_run_keep(c.raw, given, C.size_t(len(inputs)))); err != nil {
		return nil, err
	}
	count := int(C.bsm_context_output_count(c.raw))
	results := make([]*Tensor, count)
	for i := range results {
		var array C.bsm_array
		err := check(C.bsm_context_output(c.raw, C.size_t(i), &array))
		if err == nil {
			results[i], err = copyOf(&array)
		}
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// RunInto writes the outputs into tensors of the caller, of their dtypes and
// dims: nothing is copied.
func (c *Context) RunInto(outputs []*Tensor, inputs ...*Tensor) error {
	defer runtime.KeepAlive(c)
	given, freeGiven := arraysOf(inputs)
	defer freeGiven()
	into, freeInto := arraysOf(outputs)
	defer freeInto()
	return check(C.bsm_context_run(c.raw, given, C.size_t(len(inputs)), into,
		C.size_t(len(outputs))))
}
