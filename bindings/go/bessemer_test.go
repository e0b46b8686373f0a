// SPDX-License-Identifier: Apache-2.0

package bessemer

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// source is a file among Bessemer's sources, which BESSEMER_SOURCE names.
func source(path string) string {
	root := os.Getenv("BESSEMER_SOURCE")
	if root == "" {
		root = "../.."
	}
	return filepath.Join(root, path)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func expectCode(t *testing.T, err error, code Code, text string) {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no failure of the library", err)
	}
	if failure.Code != code || !strings.Contains(failure.Message, text) {
		t.Fatalf("%v: %v, not %v with %q", failure.Code, failure, code, text)
	}
}

// affine compiles y = 2x - 1 on 2 x 3 elements.
func affine(t *testing.T) *Engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "affine.ir")
	model := `graph(%x : Float(2, 3)):
  %two : float = prim::Constant[value=2.]()
  %one : int = prim::Constant[value=1]()
  %m : Tensor = aten::mul(%x, %two)
  %y : Tensor = aten::sub(%m, %one, %one)
  return (%y)
`
	if err := os.WriteFile(path, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	module := must[*Module](t)(LoadModule(path))
	return must[*Engine](t)(module.Compile(&CompileOptions{NoTiming: true}))
}

func expectElements(t *testing.T, tensor *Tensor, expected ...float32) {
	t.Helper()
	got := must[[]float32](t)(Elements[float32](tensor))
	if len(got) != len(expected) {
		t.Fatalf("%d elements, not %d", len(got), len(expected))
	}
	for i := range got {
		if got[i] != expected[i] {
			t.Fatalf("%v, not %v", got, expected)
		}
	}
	runtime.KeepAlive(tensor)
}

func TestCompileSaveLoadRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "affine.bsm")
	if err := affine(t).Save(path); err != nil {
		t.Fatal(err)
	}
	engine := must[*Engine](t)(Load(path, nil))
	inputs := must[[]Binding](t)(engine.Inputs())
	outputs := must[[]Binding](t)(engine.Outputs())
	if len(inputs) != 1 || len(outputs) != 1 || inputs[0].Name != "x" ||
		inputs[0].DType != Float32 || inputs[0].Dims[1] != 3 {
		t.Fatal(inputs, outputs)
	}
	if engine.Metadata("builder.version") != Version() || engine.Metadata("nothing") != "" {
		t.Fatal("other metadata")
	}
	context := must[*Context](t)(engine.NewContext(&ContextOptions{Threads: 1}))
	x := must[*Tensor](t)(FromSlice([]float32{0, 1, 2, 3, -4, 0.5}, 2, 3))
	results := must[[]*Tensor](t)(context.Run(x))
	expectElements(t, results[0], -1, 1, 3, 5, -9, 0)
	into := must[*Tensor](t)(NewTensor(Float32, 2, 3))
	if err := context.RunInto([]*Tensor{into}, x); err != nil {
		t.Fatal(err)
	}
	expectElements(t, into, -1, 1, 3, 5, -9, 0)
	context.Close()
}

func TestGoroutinesShareAnEngine(t *testing.T) {
	engine := affine(t)
	var group sync.WaitGroup
	for k := 0; k < 4; k++ {
		group.Add(1)
		go func(k float32) {
			defer group.Done()
			context, err := engine.NewContext(nil)
			for i := 0; i < 50 && err == nil; i++ {
				x, _ := FromSlice([]float32{k, k, k, k, k, k}, 2, 3)
				var results []*Tensor
				if results, err = context.Run(x); err == nil {
					y, _ := Elements[float32](results[0])
					if y[5] != 2*k-1 {
						t.Errorf("%v, not %v", y[5], 2*k-1)
					}
					runtime.KeepAlive(results)
				}
				runtime.GC()
			}
			if err != nil {
				t.Error(err)
			}
		}(float32(k))
	}
	group.Wait()
}

// elements are the bytes behind the header of an .npy file.
func elements(t *testing.T, path string) []byte {
	file := must[[]byte](t)(os.ReadFile(source(path)))
	return file[10+int(binary.LittleEndian.Uint16(file[8:])):]
}

func TestDigits(t *testing.T) {
	module := must[*Module](t)(LoadModule(source("examples/digits/digits.ts")))
	options := &CompileOptions{NoTiming: true, Inputs: []Input{{DType: Float32,
		Min: []int64{1, 1, 8, 8}, Opt: []int64{8, 1, 8, 8}, Max: []int64{360, 1, 8, 8}}}}
	engine := must[*Engine](t)(module.Compile(options))
	context := must[*Context](t)(engine.NewContext(nil))
	pixels := elements(t, "examples/digits/digits_images.npy")
	labels := elements(t, "examples/digits/digits_labels.npy")
	const batch = 40
	right := 0
	for at := 0; at < 360; at += batch {
		images := must[*Tensor](t)(NewTensor(Float32, batch, 1, 8, 8))
		copy(images.Bytes(), pixels[at*256:])
		results := must[[]*Tensor](t)(context.Run(images))
		scores := must[[]float32](t)(Elements[float32](results[0]))
		for i := 0; i < batch; i++ {
			best := 0
			for d := 1; d < 10; d++ {
				if scores[i*10+d] > scores[i*10+best] {
					best = d
				}
			}
			if best == int(labels[(at+i)*8]) {
				right++
			}
		}
		runtime.KeepAlive(results)
	}
	if right < 355 {
		t.Fatalf("%d of 360 are right", right)
	}
	wide := must[*Tensor](t)(NewTensor(Float32, 361, 1, 8, 8))
	_, err := context.Run(wide)
	expectCode(t, err, InvalidArgument, "361")
}

func TestFailures(t *testing.T) {
	_, err := Load("/no/such/file.bsm", nil)
	expectCode(t, err, IO, "/no/such/file.bsm")
	_, err = Load(source("LICENSE"), nil)
	expectCode(t, err, Corrupt, "")
	module := must[*Module](t)(LoadModule(source("examples/digits/digits.ts")))
	_, err = module.Compile(&CompileOptions{Target: "abacus"})
	expectCode(t, err, InvalidArgument, "abacus")
	_, err = module.Compile(&CompileOptions{Inputs: []Input{{Float32, []int64{1}, []int64{1, 2}, nil}}})
	expectCode(t, err, InvalidArgument, "rank")
	context := must[*Context](t)(affine(t).NewContext(nil))
	_, err = context.Run()
	expectCode(t, err, InvalidArgument, "")
	x := must[*Tensor](t)(FromSlice(make([]int64, 6), 2, 3))
	_, err = context.Run(x)
	expectCode(t, err, InvalidArgument, "int64")
}

func TestTensors(t *testing.T) {
	_, err := FromSlice([]float32{1, 2, 3}, 2, 2)
	expectCode(t, err, InvalidArgument, "4 elements, not 3")
	_, err = NewTensor(Float32, -1)
	expectCode(t, err, InvalidArgument, "")
	_, err = NewTensor(Float32, math.MaxInt64, 4)
	expectCode(t, err, InvalidArgument, "")
	_, err = NewTensor(DType(99), 1)
	expectCode(t, err, InvalidArgument, "")
	x := must[*Tensor](t)(FromSlice([]int64{1, 2, 3}, 3))
	_, err = Elements[float32](x)
	expectCode(t, err, InvalidArgument, "int64")
	if len(x.Bytes()) != 24 || x.DType().String() != "int64" || x.Dims()[0] != 3 {
		t.Fatal(x)
	}
}
