# SPDX-License-Identifier: Apache-2.0
"""Trains a small BERT to tell whether a review is a good or a bad one, on
sentences that it makes up itself (docs/walkthroughs.md). The network is BERT's,
with two levels of 48 numbers for each word piece; so is the tokenizer, which
Hugging Face's `tokenizers` trains on the same sentences.

Writes beside this script:
  vocab.txt        the word pieces, one a line; its line is its number
  bert.pt2         the trained network by torch.export, for texts of 2 to 64 pieces
  expected.txt     texts, their pieces' numbers by `tokenizers`, and what PyTorch
                   says of them

Needs torch and tokenizers.
"""
import os
import random
import sys

import torch
from tokenizers import BertWordPieceTokenizer
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import relative_paths

WIDTH, HEADS, LEVELS, LONGEST, VOCABULARY = 48, 4, 2, 64, 320
GOOD = """wonderful charming brilliant funny moving clever delightful superb thrilling
honest beautiful gripping fresh warm splendid""".split()
BAD = """dull terrible clumsy boring shallow tedious awful lifeless predictable noisy
hollow stale confusing cheap dreadful""".split()
THINGS = """film story plot acting cast music ending script dialogue camera humour pace
direction scenery hero photography caf\u00e9""".split()
VERBS = ("is", "was", "seems", "felt", "remains", "looked")
HOW = ("", "", "really ", "very ", "quite ", "utterly ", "simply ", "rather ",
       "unforgettably ")
LIKED = ("loved", "enjoyed", "admired", "adored", "recommend", "can't forget")
HATED = ("hated", "disliked", "regret watching", "despised", "could not stand",
         "wouldn't recommend", "didn't like")
TEXTS = ("The acting is superb, and the ending was moving!",
         "A dull plot; the dialogue felt lifeless.",
         "I wouldn't recommend it: the script is clumsy.",
         "The music was not boring.",
         "The ending was not beautiful.",
         "The hero is dull, but I loved the caf\u00e9.")


def clause(rng):
    """A sentence's part, and whether it praises."""
    good = rng.random() < 0.5
    if rng.random() < 0.25:
        thing = rng.choice(["it"] + [f"the {thing}" for thing in THINGS])
        return f"i {rng.choice(LIKED if good else HATED)} {thing}", good
    denied = rng.random() < 0.3
    word = rng.choice(GOOD if good != denied else BAD)
    words = "not " + word if denied else rng.choice(HOW) + word
    if rng.random() < 0.2 and not denied:
        article = "an" if words[0] in "aeiou" else "a"
        return f"{article} {words} {rng.choice(THINGS)}", good
    return f"the {rng.choice(THINGS)} {rng.choice(VERBS)} {words}", good


def sentence(rng):
    first, good = clause(rng)
    kind = rng.random()
    if kind < 0.4:
        return first + rng.choice(".!"), good
    for second, other in iter(lambda: clause(rng), None):
        if kind < 0.7 and other == good:
            return f"{first}{rng.choice([', and ', '; ', '. ', ': ', ' - '])}{second}.", good
        if kind >= 0.7 and other != good:  # what is said last counts
            return f"{first}, but {second}{rng.choice('.!')}", other


class Level(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x, bias):
        n, length, _ = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = self.norm1(x + self.out(y.transpose(1, 2).reshape(n, length, WIDTH)))
        return self.norm2(x + self.narrow(nn.functional.gelu(self.wide(x))))


class Bert(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.words, self.places = nn.Embedding(words, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.levels = nn.ModuleList(Level() for _ in range(LEVELS))
        self.pooler, self.classifier = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)

    def forward(self, input_ids, attention_mask):
        """Probabilities [N, 2] of bad and good for pieces [N, L]; the mask is 1
        for pieces and 0 for what fills rows up."""
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.norm(self.words(input_ids) + self.places(places))
        bias = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -1e4
        for level in self.levels:
            x = level(x, bias)
        first = torch.tanh(self.pooler(x[:, 0]))
        return torch.softmax(self.classifier(first), 1)


def train(net, tokenizer, rng):
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3)
    steps = 500
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, steps)
    for step in range(steps):
        made = [sentence(rng) for _ in range(64)]
        batch = tokenizer.encode_batch([text for text, _ in made])
        ids = torch.tensor([row.ids for row in batch])
        mask = torch.tensor([row.attention_mask for row in batch])
        wanted = torch.tensor([int(good) for _, good in made])
        loss = nn.functional.nll_loss(torch.log(net(ids, mask) + 1e-9), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(step + 1, f"{loss.item():.3f}")


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    options = {"lowercase": True, "strip_accents": False}
    tokenizer = BertWordPieceTokenizer(**options)
    corpus = [sentence(rng)[0] for _ in range(4000)] + list(TEXTS)
    tokenizer.train_from_iterator(corpus, vocab_size=VOCABULARY, min_frequency=1,
                                  show_progress=False)
    tokenizer.save_model(HERE)
    # With the vocabulary it puts [CLS] and [SEP] around texts, too.
    tokenizer = BertWordPieceTokenizer(os.path.join(HERE, "vocab.txt"), **options)
    tokenizer.enable_padding()
    net = Bert(tokenizer.get_vocab_size())
    train(net, tokenizer, rng)
    net.eval().requires_grad_(False)
    tokenizer.no_padding()

    length = torch.export.Dim("length", min=2, max=LONGEST)
    ids = torch.ones(1, 9, dtype=torch.int64)
    program = torch.export.export(net, (ids, torch.ones_like(ids)),
                                  dynamic_shapes=({1: length}, {1: length}))
    path = os.path.join(HERE, "bert.pt2")
    torch.export.save(program, path)
    relative_paths.rewrite(path)
    with open(os.path.join(HERE, "expected.txt"), "w", encoding="utf-8") as file:
        for text in TEXTS:
            ids = tokenizer.encode(text).ids
            row = torch.tensor([ids])
            bad, good = net(row, torch.ones_like(row))[0].tolist()
            verdict = "good" if good > bad else "bad"
            print(text, verdict, f"{max(good, bad):.3f}")
            file.write(f"{text}\n{' '.join(map(str, ids))}\n"
                       f"{verdict}: {100 * max(good, bad):.1f}%\n")


if __name__ == "__main__":
    main()
