// SPDX-License-Identifier: Apache-2.0

package bessemer

// #include <bessemer/bessemer.h>
import "C"

// Code is the kind of a failure, as bsm_code of bessemer/status.h.
type Code int

const (
	InvalidArgument Code = C.BSM_INVALID_ARGUMENT
	OutOfMemory     Code = C.BSM_OUT_OF_MEMORY
	Unsupported     Code = C.BSM_UNSUPPORTED
	Corrupt         Code = C.BSM_CORRUPT
	Limit           Code = C.BSM_LIMIT
	IO              Code = C.BSM_IO
	OtherVersion    Code = C.BSM_VERSION
	NotFound        Code = C.BSM_NOT_FOUND
	OutOfRange      Code = C.BSM_OUT_OF_RANGE
	DataDependent   Code = C.BSM_DATA_DEPENDENT
	Raised          Code = C.BSM_RAISED
	Internal        Code = C.BSM_INTERNAL
	Device          Code = C.BSM_DEVICE
	Untrusted       Code = C.BSM_UNTRUSTED
	Cancelled       Code = C.BSM_CANCELLED
)

// Error says what failed, and why: the cause is in front, and what was being
// done on the lines after it.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string {
	return e.Message
}

// check consumes a status.
func check(status C.bsm_status) error {
	if status == nil {
		return nil
	}
	defer C.bsm_status_free(status)
	return &Error{Code(C.bsm_status_code(status)), C.GoString(C.bsm_status_message(status))}
}

func invalid(message string) error {
	return &Error{InvalidArgument, message}
}
