#include "app/builtin_text.h"

namespace slip {

std::string_view builtin_text() {
  return R"TEXT(The following functions keep a list of prices and compute what a customer has to pay.

```python
def read_prices(path):
    """Return a dictionary from the name of an item to its price."""
    prices = {}
    with open(path) as file:
        for line in file:
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            name, value = line.split(",")
            prices[name.strip()] = float(value)
    return prices


def total(items, prices, discount=0.0):
    """Return the sum of the prices of all items, less the discount."""
    result = 0.0
    for name, count in items:
        if name not in prices:
            raise KeyError(name)
        result += prices[name] * count
    return result * (1.0 - discount)


def print_receipt(items, prices):
    for name, count in items:
        print(f"{name:20} {count:4} {prices[name] * count:8.2f}")
    print(f"{'total':20} {'':4} {total(items, prices):8.2f}")


class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("not enough money")
        self.balance -= amount
```

The lighthouse at the end of the pier had not been lit for twenty years, and most people in
the town had stopped looking at it. Anna looked at it every morning. She opened the bakery at five, put the first
loaves into the oven, and carried her cup of coffee to the window while it was still dark outside. The pier was a
thin black line, and at the end of it stood the tower, a little darker than the sky.

On the first Monday in November the lamp was burning. It turned slowly, as it had done when she was a child, and
the light went over the water, over the roofs, and over the flour on her hands. She put down the cup and counted
the seconds between one flash and the next. There were twelve of them. There had always been twelve.

"Did you see it?" asked the postman, when he came in for his bread. He was a careful man who did not like to say
anything that he could not prove, so he said it in a low voice and looked at the door.
)TEXT";
}

}  // namespace slip
