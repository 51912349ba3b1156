"""The distances between rows that scores of stability know."""

import pytest


@pytest.fixture(params=["cosine", "correlation", "euclidean"])
def metric(request):
    return request.param
