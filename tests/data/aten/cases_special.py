# SPDX-License-Identifier: Apache-2.0
"""Special functions, polynomials, distances and the less common arithmetic."""
import torch

UNARY = """special_i0 special_i0e special_i1 special_i1e i0 special_ndtr
special_ndtri special_log_ndtr special_entr special_bessel_j0 special_bessel_j1
special_bessel_y0 special_bessel_y1 special_modified_bessel_i0
special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
special_spherical_bessel_j0 special_airy_ai special_erfcx special_digamma
special_psi special_gammaln special_erfc special_erfinv special_sinc
special_logit special_round""".split()
POLYNOMIALS = [p + "_polynomial_" + k for p, k in
               [("chebyshev", k) for k in "tuvw"] +
               [("hermite", "h"), ("hermite", "he"), ("laguerre", "l"),
                ("legendre", "p")] +
               [("shifted_chebyshev", k) for k in "tuvw"]]
BYTES = 3000


def add(m):
    case, rand, known = m.case, m.rand, m.known
    f4, f8, f2, bf, i8, i4, b1 = m.f4, m.f8, m.f2, m.bf, m.i8, m.i4, m.b1
    inside = torch.tensor([0.0, 0.01, 0.3, 0.5, 0.75, 0.99, 1.0])
    for n in UNARY:
        for q in (f"aten::{n}", f"aten::{n}_"):
            if not known(q):
                continue
            unit = n in ("special_ndtri", "special_erfinv", "special_logit")
            low, high = (0.01, 0.99) if unit else (0.1, 6.0)
            case(q, rand((3, 2), f4, low, high), strides=True)
            # PyTorch's own Bessel functions are not better than this.
            wide = f4 if "_bessel_" in n and "modified" not in n else f8
            case(q, rand((5,), wide, low, high))
            case(q, rand((3,), bf, low, high))
            case(q, rand((3,), i8))
            case(q, rand((2,), b1))
            if unit:
                case(q, inside)
                case(q, torch.tensor([1e-5, 1e-10, 1e-300], dtype=f8))
            elif n not in ("special_digamma", "special_psi",
                           "special_gammaln"):
                case(q, torch.linspace(-9, 12, 22, dtype=wide))
                case(q, torch.tensor([20.0, 35.5, 1e-6, 0.0, m.NAN]))
    case("aten::special_round", rand((3,)), decimals=2)
    case("aten::special_logit", inside, 0.1)
    case("aten::special_logsumexp", rand((2, 3)), [1])
    x = torch.tensor([0.1, 0.7, 1.0, 2.5, 7.0, 30.0], dtype=f8)
    for n in (0, 1, 2, 3, 5):
        case("aten::polygamma", n, x)
        case("aten::special_polygamma", n, x.float())
        case("aten::polygamma_", x.float(), n)
        case("aten::polygamma", n, torch.tensor([-0.5, -1.5]))
        case("aten::mvlgamma", x + n, n)
        case("aten::special_multigammaln", x.float() + n, n)
        case("aten::mvlgamma_", x.float() + n, n)
    case("aten::polygamma", -1, x)
    case("aten::polygamma", 1, torch.tensor([1, 2, 3]))
    a, b = rand((3, 4), f4, 0.1, 9.0), rand((4,), f4, 0.1, 9.0)
    for n in ("igamma", "igammac", "special_gammainc", "special_gammaincc",
              "igamma_", "igammac_"):
        case(f"aten::{n}", a, b)
        case(f"aten::{n}", a.double(), b.double())
        case(f"aten::{n}", torch.tensor([0.0, 0.0, 1, -1, m.INF, 1, m.NAN, 2]),
             torch.tensor([0.0, 1, 0, 1, 1, m.INF, 1, -2]))
        case(f"aten::{n}", rand((2,), i8), rand((2,), i8))
    for n in ("special_xlogy", "special_xlog1py", "special_zeta"):
        case(f"aten::{n}", a + 1, b)
        case(f"aten::{n}", a.double() + 1, b.double())
        case(f"aten::{n}", torch.tensor([0.0, 0, 1, 2, 0.5, 3]),
             torch.tensor([0.0, m.NAN, 2, -1, 2, -2]))
        case(f"aten::{n}.other_scalar", a, 2.5)
        case(f"aten::{n}.self_scalar", 2.5, b)
        case(f"aten::{n}", torch.tensor([2, 3]), torch.tensor([1, 2]))
    case("aten::xlogy_.Scalar_Other", rand((3,)), 2)
    for n in ("logaddexp", "logaddexp2"):
        case(f"aten::{n}", rand((2, 3)), rand((3,)))
        case(f"aten::{n}", m.SPECIAL, m.SPECIAL.flip(0))
        case(f"aten::{n}", torch.tensor([m.INF, -m.INF, 3000.0]),
             torch.tensor([m.INF, -m.INF, -3000.0]))
        case(f"aten::{n}", rand((2,), f8), rand((2,)))
        case(f"aten::{n}", rand((2,), i8), rand((2,), i8))
    for q in ("aten::heaviside", "aten::heaviside_"):
        case(q, torch.tensor([-1.5, 0, 2, m.NAN]), torch.tensor([0.5]))
        case(q, torch.tensor([-1, 0, 2]), torch.tensor([3, 4, 5]))
        case(q, torch.tensor([-1, 0, 2]), torch.tensor([0.5]))
    for n in ("gcd", "lcm"):
        for q in (f"aten::{n}", f"aten::{n}_"):
            case(q, torch.tensor([12, -18, 0, 7, 0]),
                 torch.tensor([18, 12, 5, 0, 0]))
            case(q, torch.tensor([[12], [15]], dtype=i4), torch.tensor([10, 6]))
            case(q, torch.tensor([12, 8], dtype=m.u1), torch.tensor([8, 12]))
            case(q, rand((2,)), rand((2,)))
    for q in ("aten::nextafter", "aten::nextafter_"):
        case(q, torch.tensor([1.0, 0, -2, m.INF]), torch.tensor([2.0, -1, 5, 0]))
        case(q, rand((3,), f8), rand((3,), f8))
    for d in (f4, f8, bf, f2, i8):
        case("aten::frexp.Tensor", rand((2, 3), d))
        case("aten::ldexp.Tensor", rand((3,), d), torch.tensor([1, 2, -3]))
        case("aten::ldexp_", rand((3,), d), torch.tensor([1, 2, -3]))
        case("aten::float_power.Tensor_Tensor", rand((3,), d, 1), rand((3,), d))
        case("aten::float_power.Tensor_Scalar", rand((3,), d, 1), 2)
        case("aten::float_power.Scalar", 2.5, rand((3,), d))
        case("aten::float_power_.Tensor", rand((3,), d, 1), rand((3,), d))
        case("aten::float_power_.Scalar", rand((3,), d, 1), 3)
    case("aten::frexp.Tensor", torch.tensor([0.0, 1.0, 1e-40, -8.0]))
    case("aten::ldexp.Tensor", rand((3,)), rand((3,)))
    case("aten::float_power.Tensor_Scalar", rand((3,), m.c4), 2)
    case("aten::float_power.Tensor_Scalar", rand((3,)), 1j)
    degrees = torch.tensor([0, 1, 2, 3, 6, 9, -1])
    for n in POLYNOMIALS:
        q = "aten::special_" + n
        case(q, rand((7,), f8, -1, 1), degrees)
        case(q, torch.tensor([[0.0], [1.0], [-1.0], [1.5], [-2.0]]), degrees)
        case(q, rand((2,), f4, 0, 1), degrees[2])
        case(q + ".x_scalar", 0.3, degrees)
        case(q + ".n_scalar", rand((3,), f8, -1, 1), 4)
    one, two = torch.tensor(0.5), torch.tensor(2)
    case("aten::logspace.Tensor_Tensor", one, two, 5)
    case("aten::logspace.Tensor_Scalar", one, 2, 4, 2.0)
    case("aten::logspace.Scalar_Tensor", -1, two, 3, dtype=f8)
    distances(m)
    gradients(m)


def distances(m):
    case, rand = m.case, m.rand
    f4, f8, i8 = m.f4, m.f8, m.i8
    x, y = rand((4, 3)), rand((5, 3))
    for p in (0.0, 1.0, 2.0, 2.5, m.INF):
        case("aten::_cdist_forward", x, y, p, None)
        case("aten::_cdist_forward", rand((2, 4, 3), f8), rand((2, 5, 3), f8),
             p, 1)
        case("aten::pdist", x, p)
        case("aten::_pdist_forward", y.double(), p)
        case("aten::pairwise_distance", x, y[:4], p)
        case("aten::dist", x, y[:4], p)
    case("aten::_cdist_forward", x, y, -1.0, None)
    case("aten::_cdist_forward", x, rand((5, 2)), 2.0, None)
    case("aten::_cdist_forward", rand((0, 3)), y, 2.0, None)
    case("aten::_euclidean_dist", x, y)
    case("aten::pdist", rand((1, 3)))
    case("aten::pdist", rand((3,)))
    case("aten::pdist", x, -1.0)
    case("aten::pairwise_distance", x, y[0], 2.0, 0.1, True)
    case("aten::pairwise_distance", rand((3,)), rand((3,)))
    case("aten::pairwise_distance", rand((2, 4, 3), f8), y[:4])
    case("aten::dist", x, rand((3,)))
    case("aten::dist", rand((3,), i8), rand((3,), i8))


def gradients(m):
    case, rand = m.case, m.rand
    x = rand((4, 5))
    for order in (1, 2, 3):
        kw = dict(edge_order=order)
        case("aten::gradient.scalarint", x, **kw)
        case("aten::gradient.scalarint", x, spacing=0.5, dim=-1, **kw)
        case("aten::gradient.scalararray", x, spacing=2, dim=[1, 0], **kw)
        case("aten::gradient.array", x.double(), dim=[0], **kw)
        case("aten::gradient.scalarrayint", x, spacing=[0.5, 2.0], **kw)
        case("aten::gradient.scalarrayint", x, spacing=[2.0], dim=1, **kw)
        case("aten::gradient.scalarrayarray", x, spacing=[2.0, 3.0],
             dim=[0, -1], **kw)
        at = [torch.tensor([0.0, 1, 3, 4]), torch.tensor([0.0, 2, 3, 5, 9])]
        case("aten::gradient.tensorarrayint", x, spacing=at, **kw)
        case("aten::gradient.tensorarrayint", x, spacing=at[1:], dim=1, **kw)
        case("aten::gradient.tensorarray", x, spacing=at[::-1], dim=[1, 0], **kw)
    case("aten::gradient.scalarint", torch.tensor([1, 4, 9, 16]))
    case("aten::gradient.scalarint", rand((2,)), edge_order=2)
    case("aten::gradient.scalarrayint", x, spacing=[1.0])
    case("aten::gradient.array", x, dim=[0, 0])
    case("aten::gradient.tensorarrayint", x, spacing=at[::-1])
