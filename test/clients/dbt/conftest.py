"""Fixtures of dbt's adapter tests. The address is in the environment."""
import os

import pytest

pytest_plugins = ["dbt.tests.fixtures.project"]


@pytest.fixture(scope="class")
def dbt_profile_target():
    return {
        "type": "clickhouse",
        "driver": "http",
        "threads": 2,
        "host": os.environ["CLICKHOUSE_HOST"],
        "port": int(os.environ["CLICKHOUSE_PORT"]),
        "user": "default",
        "password": os.environ["CLICKHOUSE_PASSWORD"],
    }
