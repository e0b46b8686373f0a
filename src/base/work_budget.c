/* SPDX-License-Identifier: Apache-2.0 */
#include "base/work_budget.h"

/* What takes less is small: calls on shapes and numbers, nodes. */
#define SMALL 4096.0

bsm_status bsm_work_budget_charge(bsm_work_budget *work, double amount) {
  double left = work->left;
  if (amount > SMALL) left -= work->kept < left ? work->kept : left;
  if (amount <= left) {
    if (amount > 0) work->left -= amount;
    return BSM_OK;
  }
  work->refused = true;
  work->refusals++;
  return BSM_FAIL(BSM_LIMIT,
                  "it takes %.0f multiply-adds or visits of elements, and %.0f "
                  "of %.0f are left: raise max_work of the limits",
                  amount, left, work->limit);
}
