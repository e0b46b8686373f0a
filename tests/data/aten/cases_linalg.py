# SPDX-License-Identifier: Apache-2.0
"""Linear algebra. Eigenvectors and singular vectors are determined but for
their sign: linalg_test.c multiplies them back, only their shapes count here."""
import torch

MOST = 60
BYTES = 6000


def add(m):
    torch.manual_seed(1)
    systems(m)
    factors(m)
    triangles(m)
    spectral(m)
    products(m)


def squares(m):
    """Well-conditioned ones, and some that an op refuses."""
    for d in (m.f4, m.f8, m.c4, m.c8):
        for shape in ((3, 3), (2, 4, 4), (1, 1)):
            yield m.rand(shape, d) + 2.5 * torch.eye(shape[-1], dtype=d)
    yield torch.tensor([[0.0, 2.0], [3.0, 4.0]])
    yield m.rand((5, 5)).t()
    yield m.rand((2, 1, 3, 3))
    yield m.rand((0, 3, 3))
    yield m.rand((2, 0, 0))
    yield torch.ones(2, 2)
    yield m.rand((2, 3))
    yield m.rand((3,))
    yield torch.eye(3, dtype=m.i8)
    yield torch.eye(3, dtype=m.f2)


def systems(m):
    case, rand = m.case, m.rand
    f4, f8, c4, i8 = m.f4, m.f8, m.c4, m.i8
    for a in squares(m):
        for n in ("linalg_inv", "inverse", "linalg_det", "det", "logdet",
                  "linalg_slogdet", "slogdet"):
            case(f"aten::{n}", a)
        case("aten::linalg_inv_ex", a, shape_only=a.numel() == 4)
        case("aten::_linalg_det", a)
        case("aten::_linalg_slogdet", a)
    case("aten::linalg_inv_ex", torch.eye(2), check_errors=True)
    case("aten::linalg_inv_ex", torch.zeros(2, 2), check_errors=True)
    a = rand((2, 3, 3)) + 2 * torch.eye(3)
    for q in ("aten::linalg_solve", "aten::linalg_solve_ex",
              "aten::_linalg_solve_ex"):
        case(q, a, rand((2, 3, 4)))
        case(q, a, rand((3, 2)))
        case(q, a, rand((2, 3)))
        case(q, a[0], rand((3,)))
        case(q, a[0], rand((5, 3, 2)))
        case(q, a.to(c4), rand((2, 3, 2), c4))
        case(q, a, rand((2, 4, 3)), left=False)
        case(q, a[0].double(), rand((2, 3), f8), left=False)
        case(q, a, rand((2, 4, 3)))
        case(q, a, rand((2, 3, 4), f8))
        case(q, rand((2, 3)), rand((2, 1)))
        case(q, a.unsqueeze(1), rand((3, 3, 2)))
    case("aten::linalg_solve", torch.ones(2, 2), rand((2, 1)))
    case("aten::linalg_solve_ex", torch.ones(2, 2), rand((2, 1)),
         check_errors=True)


def factors(m):
    case, rand = m.case, m.rand
    f4, f8, c4, c8 = m.f4, m.f8, m.c4, m.c8
    for t in (rand((3, 3)), rand((2, 4, 3), f8), rand((3, 5)), rand((3, 3), c4),
              rand((4, 4)).t(), rand((2, 0, 3)), rand((3,)), torch.eye(2).int(),
              torch.tensor([[0.0, 1], [0, 2]]), torch.ones(3, 3)):
        case("aten::linalg_lu", t)
        case("aten::linalg_lu_factor", t)
        case("aten::linalg_lu_factor_ex", t)
        for mode in ("reduced", "complete", "r", "what"):
            case("aten::linalg_qr", t, mode)
        case("aten::qr", t)
        case("aten::qr", t, False)
        if t.dim() > 1 and t.is_floating_point():
            lu, p, _ = torch.linalg.lu_factor_ex(t)
            case("aten::lu_unpack", lu, p)
            case("aten::lu_unpack", lu, p, False)
            case("aten::lu_unpack", lu, p, True, False)
    case("aten::linalg_lu", rand((2, 2)), pivot=False)
    case("aten::linalg_qr", torch.zeros(3, 2))
    case("aten::linalg_qr", torch.eye(3))
    a = rand((2, 3, 3)) + 2 * torch.eye(3)
    lu, p = torch.linalg.lu_factor(a)
    b = rand((2, 3, 2))
    case("aten::linalg_lu_solve", lu, p, b)
    case("aten::linalg_lu_solve", lu[0], p[0], b[0])
    case("aten::linalg_lu_solve", lu, p, rand((2, 4, 2)))
    case("aten::lu_solve", b, lu, p)
    for d in (f4, f8, c4, c8):
        x = rand((2, 4, 4), d)
        s = x @ x.mH + torch.eye(4, dtype=d)
        for upper in (False, True):
            case("aten::linalg_cholesky", s, upper=upper)
            case("aten::cholesky", s[0], upper)
            case("aten::linalg_cholesky_ex", s, upper=upper)
            l = torch.linalg.cholesky(s, upper=upper)
            case("aten::cholesky_solve", rand((2, 4, 3), d), l, upper)
            case("aten::cholesky_inverse", l, upper)
    case("aten::cholesky_solve", rand((4, 3), d), l, True)
    case("aten::cholesky_solve", rand((3, 3)), torch.eye(4))
    for bad in (-torch.eye(3), torch.zeros(2, 2), rand((2, 3)),
                torch.tensor([[1.0, 2.0], [2.0, 1.0]])):
        case("aten::linalg_cholesky", bad)
        case("aten::cholesky", bad)
    case("aten::linalg_cholesky_ex", torch.eye(2), check_errors=True)
    h, tau = torch.geqrf(rand((4, 3)))
    case("aten::linalg_householder_product", h, tau)
    h, tau = torch.geqrf(rand((2, 4, 3), c4))
    case("aten::linalg_householder_product", h, tau)
    case("aten::linalg_householder_product", h, tau[:, :2])
    case("aten::linalg_householder_product", rand((2, 3)), rand((2,)))


def triangles(m):
    case, rand = m.case, m.rand
    f8, c4 = m.f8, m.c4
    for d in (m.f4, f8, c4):
        a = rand((2, 3, 3), d) + 2 * torch.eye(3, dtype=d)
        b = rand((2, 3, 4), d)
        for upper in (False, True):
            for unit in (False, True):
                case("aten::linalg_solve_triangular", a, b, upper=upper,
                     unitriangular=unit)
                case("aten::linalg_solve_triangular", a, b.mT, upper=upper,
                     left=False, unitriangular=unit)
                case("aten::triangular_solve", b, a, upper, unit, not unit)
    case("aten::linalg_solve_triangular", a[0], b, upper=True)
    case("aten::linalg_solve_triangular", a, rand((2, 4, 4), c4), upper=True)
    case("aten::triangular_solve", b, a[0])
    case("aten::triangular_solve", rand((3,)), rand((3, 3)))


def spectral(m):
    case, rand = m.case, m.rand
    f4, f8, c4, c8, i8 = m.f4, m.f8, m.c4, m.c8, m.i8
    tall = [rand((4, 3)), rand((2, 3, 5), f8), rand((3, 3), c4),
            rand((2, 2, 4, 2)), rand((0, 3, 2)), rand((1, 1)), rand((3,)),
            torch.eye(3).long(), torch.zeros(3, 2), torch.ones(3, 3),
            rand((5, 4)).t()]
    for t in tall:
        case("aten::linalg_svdvals", t)
        case("aten::_linalg_svd", t, True, shape_only=True)
        case("aten::_linalg_svd", t, False, False)
        for n in ("linalg_svd", "svd"):
            case(f"aten::{n}", t, shape_only=True)
            case(f"aten::{n}", t, False, shape_only=True)
        case("aten::linalg_matrix_rank", t, 0.01)
        case("aten::linalg_matrix_rank.atol_rtol_float", t)
        case("aten::linalg_matrix_rank.atol_rtol_float", t, atol=0.5)
        case("aten::linalg_pinv.atol_rtol_float", t)
        case("aten::linalg_pinv.atol_rtol_float", t, atol=0.1, rtol=0.2)
        case("aten::linalg_pinv", t, 1e-3)
        case("aten::pinverse", t)
        case("aten::linalg_cond", t)
        for o in (2, -2, 1, -1, m.INF, -m.INF, 0, 3):
            case("aten::linalg_matrix_norm", t, o)
            case("aten::linalg_norm", t, o)
        for o in ("fro", "nuc", "what"):
            case("aten::linalg_matrix_norm.str_ord", t, o)
            case("aten::linalg_norm.ord_str", t, o)
        case("aten::nuclear_norm", t)
        case("aten::linalg_norm", t)
        case("aten::linalg_norm", t, None, None, True)
    x = rand((2, 3, 4))
    for o in (None, 0, 1, 2, 3.5, m.INF, -m.INF, -1):
        case("aten::linalg_norm", x, o, [1])
        case("aten::linalg_norm", x, o, [0, 2], True)
        case("aten::linalg_norm", x[0, 0], o)
    case("aten::linalg_norm", x, None, [0, 1, 2])
    case("aten::linalg_norm", x, 2, [0, 1, 2])
    case("aten::linalg_norm", x, 2)
    case("aten::linalg_norm", x, dtype=f8)
    tol = torch.tensor(0.1)
    case("aten::linalg_matrix_rank.tol_tensor", x, tol)
    case("aten::linalg_matrix_rank.atol_rtol_tensor", x, atol=tol)
    case("aten::linalg_pinv.rcond_tensor", x, tol)
    case("aten::linalg_pinv.atol_rtol_tensor", x, rtol=tol)
    case("aten::linalg_matrix_norm", x, 1, [0, 2], True)
    case("aten::linalg_matrix_norm", x, 2, [2, 0], False, dtype=f8)
    case("aten::linalg_matrix_norm", x, m.INF, [1, 1])
    case("aten::linalg_matrix_norm.str_ord", x, "nuc", [0, 1], True)
    case("aten::nuclear_norm.dim", x, [0, 1], True)
    for d in (f4, f8, c4, c8):
        y = rand((2, 4, 4), d)
        y = y + y.mH + 12 * torch.eye(4, dtype=d)
        for u in ("L", "U", "x"):
            case("aten::linalg_eigvalsh", y, u)
            case("aten::_linalg_eigh", y, u, False)
            case("aten::_linalg_eigh", y, u, shape_only=True)
            case("aten::linalg_eigh", y, u, shape_only=True)
        case("aten::linalg_pinv.atol_rtol_float", y, hermitian=True)
        case("aten::linalg_matrix_rank.atol_rtol_float", y, hermitian=True)
    case("aten::linalg_eigvalsh", rand((3, 3)))
    case("aten::linalg_eigvalsh", rand((3, 3)), "U")
    case("aten::linalg_eigvalsh", rand((3, 2)))
    case("aten::linalg_eigvalsh", rand((0, 3, 3)))
    a = rand((3, 3)) + torch.eye(3)
    for p in (1, 2, -2, m.INF):
        case("aten::linalg_cond", a, p)
    case("aten::linalg_cond.p_str", a, "fro")
    case("aten::linalg_cond.p_str", a, "nuc")
    for n in ("linalg_matrix_power", "matrix_power"):
        for k in (0, 1, 2, 5, -1, -3):
            case(f"aten::{n}", a, k)
        case(f"aten::{n}", rand((2, 3, 3), c4), 3)
        case(f"aten::{n}", torch.eye(2).long() * 3, 4)
        case(f"aten::{n}", rand((2, 3)), 2)
        case(f"aten::{n}", torch.ones(2, 2), -1)
    for n in ("linalg_matrix_exp", "matrix_exp"):
        for t in (a, rand((2, 3, 3), f8) * 4, rand((2, 2), c4), rand((2, 3)),
                  rand((1, 1)), torch.zeros(3, 3), rand((0, 2, 2))):
            case(f"aten::{n}", t)
    for t, b in ((rand((5, 3)), rand((5, 2))), (rand((2, 4, 4)), rand((2, 4, 1))),
                 (rand((5, 3), f8), rand((5,), f8)), (rand((5, 2), c4),
                                                      rand((5, 2), c4))):
        case("aten::linalg_lstsq", t, b, shape_only=True)


def products(m):
    case, rand = m.case, m.rand
    f4, f8, c4, i8 = m.f4, m.f8, m.c4, m.i8
    for d in (f4, f8, i8, c4, m.bf):
        for n in ("linalg_cross", "cross"):
            case(f"aten::{n}", rand((2, 3), d), rand((2, 3), d))
        case("aten::linalg_vecdot", rand((2, 4), d), rand((4,), d))
    for n in ("linalg_cross", "cross"):
        case(f"aten::{n}", rand((3, 2)), rand((3, 2)), dim=0)
        case(f"aten::{n}", rand((3, 2)), rand((3, 2)))
        case(f"aten::{n}", rand((3, 2)), rand((3, 2)), dim=1)
        case(f"aten::{n}", rand((2, 1, 3)), rand((4, 3)), dim=-1)
        case(f"aten::{n}", rand((2, 3)), rand((3,)))
        case(f"aten::{n}", rand((2, 3)), rand((2, 3), f8))
    case("aten::linalg_vecdot", rand((3, 4)), rand((3, 4)), dim=0)
    case("aten::linalg_vecdot", rand((3, 4)), rand((3,)), dim=0)
    for q in ("aten::linalg_multi_dot", "aten::chain_matmul"):
        case(q, [rand((2, 3)), rand((3, 4)), rand((4, 5))])
        case(q, [rand((2, 3)), rand((3, 4))])
        case(q, [rand((2, 3)), rand((2, 4))])
        case(q, [rand((3,)), rand((3, 4)), rand((4, 2)), rand((2,))])
        case(q, [rand((3, 2))])
    case("aten::linalg_diagonal", rand((2, 3, 4)))
    case("aten::linalg_diagonal", rand((2, 3, 4)), offset=1, dim1=0, dim2=1)
    case("aten::linalg_tensorinv", rand((4, 2, 2)) , 1)
    case("aten::linalg_tensorinv", rand((2, 3, 6)), 2)
    case("aten::linalg_tensorinv", rand((2, 3, 5)), 2)
    case("aten::linalg_tensorsolve", rand((2, 3, 6)), rand((2, 3)))
    case("aten::linalg_tensorsolve", rand((2, 3, 5)), rand((2, 3)))
    case("aten::vander", torch.tensor([1.0, 2, 3]))
    case("aten::vander", torch.tensor([1, 2, 3]), 4, True)
    case("aten::vander", rand((2, 3)))
    case("aten::linalg_vander", rand((2, 3)))
    case("aten::linalg_vander", torch.tensor([1, 2, 3]), N=5)
    for x in (rand((3, 5)), rand((4,), f8), rand((2, 4), c4), rand((2, 3), i8),
              rand(()), rand((2, 2, 2)), rand((2, 0))):
        case("aten::cov", x)
        case("aten::cov", x, correction=0)
        case("aten::corrcoef", x)
    w = torch.tensor([1, 2, 1, 3, 1])
    case("aten::cov", rand((3, 5)), fweights=w)
    case("aten::cov", rand((3, 5)), aweights=rand((5,), f4, 0.1))
    case("aten::cov", rand((3, 5)), fweights=w, aweights=rand((5,), f4, 0.1))
    case("aten::cov", rand((3, 5)), fweights=w.float())
