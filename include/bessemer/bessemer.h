/* SPDX-License-Identifier: Apache-2.0 */
/* The one header of a program that compiles and runs models. Programs that
 * only run engines include bessemer/engine.h. */
#ifndef BESSEMER_BESSEMER_H_
#define BESSEMER_BESSEMER_H_

#include "bessemer/calibration.h"
#include "bessemer/compiler.h"
#include "bessemer/conversion.h"
#include "bessemer/engine.h"
#include "bessemer/network.h"
#include "bessemer/onnx.h"
#include "bessemer/plugin.h"
#include "bessemer/signature.h"
#include "bessemer/version.h"

#endif /* BESSEMER_BESSEMER_H_ */
