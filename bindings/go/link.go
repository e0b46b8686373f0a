// SPDX-License-Identifier: Apache-2.0

//go:build !nopkgconfig

package bessemer

// #cgo pkg-config: bessemer
import "C"
