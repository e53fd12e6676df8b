"""The test of `tide.py`, which fails until the mistake is repaired."""

import unittest

from tide import high_water


class TideTest(unittest.TestCase):
    def test_minutes_have_two_digits(self) -> None:
        self.assertEqual(high_water("Dover", 14, 5), "Dover: high water at 14:05")
