# SPDX-License-Identifier: Apache-2.0
"""What models would take on an H200 if nothing but its rates bounded them, and
what TensorRT took there.

The rates were measured on one: products of half, its memory, its second-level
cache, and the time between the begins of two kernels of a graph of which the
second waits for the first's data."""
import json
import os

FLOPS, MEMORY, CACHE, CACHE_BYTES, STAGE = 790e12, 4.53e12, 7.5e12, 48e6, 0.8e-6

# Layers with weights that wait for each other, attention among them.
STAGES = {"resnet18": 18, "resnet50": 50, "mobilenet_v2": 53,
          "mobilenet_v3_large": 64, "efficientnet_b0": 82, "vgg16": 16,
          "alexnet": 8, "squeezenet1_1": 18, "densenet121": 121, "unet": 23,
          "ssd300_heads": 24, "vit_b_16": 62, "convnext_tiny": 59, "swin_t": 65,
          "bert_base": 62, "gpt2": 62, "transformer_encoder": 21, "lstm": 65,
          "lenet": 5, "mlp": 3}

# Microseconds of TensorRT 8.6.0 with a CUDA graph, fp16, on an H200 in other
# runs, November 2026; (model, batch).
TENSORRT = {("resnet50", 1): 303, ("resnet50", 32): 1081,
            ("mobilenet_v2", 1): 231, ("unet", 1): 217,
            ("convnext_tiny", 1): 639, ("vit_b_16", 1): 664,
            ("vit_b_16", 32): 3660, ("bert_base", 1): 491,
            ("bert_base", 32): 2120, ("lenet", 1): 29}


def work_of(model, inputs):
    """Of each layer with weights: operations, bytes of weights, of tensors; and
    a last line for operations that have none."""
    import torch
    from torch import nn
    from torch.utils.flop_counter import FlopCounterMode
    rows, seen = [], set()

    def note(layer, arguments, result):
        x, weight = arguments[0], layer.weight
        columns = (layer.in_channels if isinstance(layer, nn.ConvTranspose2d)
                   else weight.shape[0])
        rounds = x.numel() if isinstance(
            layer, nn.ConvTranspose2d) else result.numel()
        fresh = weight.data_ptr() not in seen
        seen.add(weight.data_ptr())
        rows.append((2 * rounds * weight.numel() / columns,
                     2 * weight.numel() * fresh,
                     2 * (x.numel() + result.numel())))

    kinds = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
    hooks = [m.register_forward_hook(note) for m in model.modules()
             if isinstance(m, kinds)]
    # The fused layers of PyTorch call no others, and are what is traced.
    fused = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(*inputs)
    torch.backends.mha.set_fastpath_enabled(fused)
    for hook in hooks:
        hook.remove()
    gathered = {m.weight.data_ptr() for m in model.modules()
                if isinstance(m, nn.Embedding)}
    rest = sum(2 * p.numel() for p in model.parameters()
               if p.data_ptr() not in seen | gathered)
    rows.append((max(0, counter.get_total_flops() - sum(r[0] for r in rows)),
                 rest, 0))
    return rows


def save_work(path, model, inputs):
    """Of inputs of one item; what more take is in proportion."""
    new = f"{path}.{os.getpid()}"  # another batch may write it, too
    with open(new, "w") as f:
        json.dump(work_of(model, inputs), f)
    os.replace(new, path)


def limit_us(work, name, batch):
    """Of 16 bits; None where nobody has counted stages."""
    path = os.path.join(work, name + ".work.json")
    if name not in STAGES or not os.path.exists(path):
        return None
    with open(path) as f:
        rows = json.load(f)
    weights = CACHE if sum(r[1] for r in rows) < CACHE_BYTES else MEMORY
    seconds = STAGES[name] * STAGE
    for operations, read, moved in rows:
        moved *= batch
        rate = CACHE if moved < CACHE_BYTES else MEMORY
        seconds += max(batch * operations / FLOPS,
                       read / weights + moved / rate)
    return seconds * 1e6
