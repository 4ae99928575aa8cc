"""SciPy and scikit-learn with array API dispatch on: a switch read at import, so each runs in its own process."""

import os
import subprocess
import sys

SCIPY = """
import numpy as np
import numr as nr
from scipy import cluster, special

x = nr.reshape(nr.arange(12, dtype=nr.float64), (3, 4))
result = special.logsumexp(x, axis=1)
assert isinstance(result, nr.Tensor), type(result)
np.testing.assert_allclose(np.asarray(result), np.log(np.exp(np.asarray(x)).sum(axis=1)))

white = cluster.vq.whiten(x)
assert isinstance(white, nr.Tensor), type(white)
np.testing.assert_allclose(np.asarray(white), np.asarray(x) / np.asarray(x).std(axis=0))
"""

SKLEARN = """
import numpy as np
import numr as nr
import sklearn
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MinMaxScaler

x = nr.random.Generator(0).normal((20, 3))
y = x @ nr.asarray([1.0, 2.0, 3.0]) + 0.5
with sklearn.config_context(array_api_dispatch=True):
    scaled = MinMaxScaler().fit_transform(x)
    model = Ridge(alpha=1e-9, solver="svd").fit(x, y)
assert isinstance(scaled, nr.Tensor), type(scaled)
assert (float(nr.min(scaled)), float(nr.max(scaled))) == (0.0, 1.0)
assert isinstance(model.coef_, nr.Tensor), type(model.coef_)
np.testing.assert_allclose(np.asarray(model.coef_), [1, 2, 3], rtol=1e-6)
"""


def run(script):
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)


def test_scipy_computes_on_tensors():
    result = run(SCIPY)

    assert result.returncode == 0, result.stderr


def test_sklearn_computes_on_tensors():
    result = run(SKLEARN)

    assert result.returncode == 0, result.stderr
