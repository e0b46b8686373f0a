// SPDX-License-Identifier: Apache-2.0

//go:build nopkgconfig

package bessemer

// #cgo LDFLAGS: -lbessemer
import "C"
