/* SPDX-License-Identifier: Apache-2.0 */
/* BERT's tokenizer: text is made lower case and cut into words, at spaces and
 * around punctuation; a word is the longest pieces of the vocabulary that it
 * begins with, one after the other. Pieces inside of words begin with "##". */
#ifndef WORDPIECE_H_
#define WORDPIECE_H_

#include <stddef.h>
#include <stdint.h>

typedef struct vocabulary {
  char *text;    /* the file, with NULs for line ends */
  char **pieces; /* in the order of the file: an index is a number */
  size_t count;
  size_t *sorted; /* the numbers in the order of the pieces */
} vocabulary;

/* 0, or -1 where the file cannot be read or has no [CLS], [SEP] and [UNK]. */
int vocabulary_read(const char *path, vocabulary *out);
void vocabulary_free(vocabulary *v);

/* The numbers of the pieces of `text`, in UTF-8 and the locale's encoding,
 * between [CLS] and [SEP]: at most `room` of them, the last being [SEP]. The
 * count, or 0 where the text is no UTF-8 or there is no memory. */
size_t wordpiece_encode(const vocabulary *v, const char *text, int64_t *ids,
                        size_t room);

#endif /* WORDPIECE_H_ */
