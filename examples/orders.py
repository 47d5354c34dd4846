"""A loop over records that stays plain Python, what the report says of it, and the same with its numbers taken out.

Run it with `python examples/orders.py`.
"""

import time

import numpy as np

import ufuse


def longest_rise(orders):
    """Over how many orders in a row the price went up, at most: as it was written first, over dicts."""
    best, length, last = 0, 0, 0.0
    for order in orders:
        length = length + 1 if order["price"] > last else 0
        last = order["price"]
        best = max(best, length)
    return best


def longest_rise_of(prices):
    """The same over the numbers alone."""
    best, length, last = 0, 0, 0.0
    for price in prices:
        length = length + 1 if price > last else 0
        last = price
        best = max(best, length)
    return best


def seconds(function, argument, calls=20):
    """How long a call takes, once all is compiled."""
    for _ in range(calls):
        function(argument)
    started = time.perf_counter()
    for _ in range(calls):
        function(argument)
    return (time.perf_counter() - started) / calls


def main():
    """Ask why the loop is plain Python, do what the report says, and compare."""
    rng = np.random.default_rng(0)
    orders = [{"id": n, "price": price} for n, price in enumerate(rng.random(50_000).tolist())]
    print(ufuse.explain(longest_rise, orders))
    print("\nThe report's way: the numbers are taken out first.\n")
    prices = [order["price"] for order in orders]
    print(ufuse.explain(longest_rise_of, prices))
    fast = ufuse.compile(longest_rise_of)
    assert fast(prices) == longest_rise(orders)
    before, after = seconds(longest_rise, orders), seconds(fast, prices)
    print(f"\nplain {1000 * before:.2f} ms, compiled {1000 * after:.2f} ms")


if __name__ == "__main__":
    main()
