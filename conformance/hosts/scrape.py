"""A reader of metrics that we did not write: the official Python client of Prometheus.

Reads a page from stdin, and prints [name, type, [[sample, labels, value], ...]] of each family as JSON.
"""
import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

print(
    json.dumps(
        [
            [family.name, family.type, [[sample.name, sample.labels, sample.value] for sample in family.samples]]
            for family in text_string_to_metric_families(sys.stdin.read())
        ]
    )
)
