/* SPDX-License-Identifier: Apache-2.0 */
/* Pages for browsers: one file each, with its data and everything it needs, so
 * that it can be opened from disk and sent around. The pages are tools/pages;
 * the build makes C of them. */
#ifndef BSM_TOOLS_PAGE_H_
#define BSM_TOOLS_PAGE_H_

#include <stdio.h>

#include "bessemer/status.h"

/* Writes JSON in which there is no "<" (bsm_json.in_page). */
typedef bsm_status (*bsm_page_data)(void *user, FILE *file);

/* Writes a page, one of those below, with the data that `write` gives. The file
 * appears whole or not at all; "-": the standard output. */
BSM_NODISCARD bsm_status bsm_page_write(const char *path, const char *page,
                                        bsm_page_data write, void *user);

/* The sources of the pages, made by cmake/EmbedPages.cmake. A line
 * "const DATA = null;" is where the data go. */
extern const char bsm_page_diff[], bsm_page_view[];

#endif /* BSM_TOOLS_PAGE_H_ */
