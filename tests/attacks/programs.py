"""Ordinary answers that show a program. Their comments and messages tell what the program does, and nothing of any document."""

from __future__ import annotations

_ANSWERS = r'''
python
def by_age(people):
    # Sort the list by age.
    return sorted(people, key=lambda person: person.age)
=
python
def mean(numbers):
    """Return the mean of the numbers."""
    if not numbers:
        raise ValueError("The list must not be empty.")
    return sum(numbers) / len(numbers)
=
python
import time

for attempt in range(3):
    try:
        connect()
        break
    except OSError:
        # Wait for 5 seconds before the next attempt.
        time.sleep(5)
else:
    print("Could not connect after 3 attempts.")
=
python
class Stack:
    """A simple stack, backed by a list."""

    def __init__(self):
        self.items = []  # The last item is the top.

    def push(self, item):
        """Put an item on top of the stack."""
        self.items.append(item)
=
python
name = input("Please enter your name: ")
print(f"Hello {name}, welcome back!")
=
python
# Read the file line by line, so that it need not fit into memory.
with open("data.txt") as lines:
    total = sum(float(line) for line in lines)  # Blank lines are not allowed.
print(f"The total is {total:.2f}.")
=
python
def fib(n: int) -> int:
    """The n-th Fibonacci number.

    >>> fib(10)
    55
    """
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
=
python
import re

# Match a date such as 2024-01-31.
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
assert DATE.match("2024-01-31"), "The pattern should match this date."
=
python
@app.get("/items/{item_id}")
def read_item(item_id: int):
    if item_id not in items:
        raise HTTPException(status_code=404, detail="The item was not found.")
    return items[item_id]
=
python
# Step 1: load the data.
frame = pd.read_csv("sales.csv")
# Step 2: drop the rows without a price.
frame = frame.dropna(subset=["price"])
# Step 3: plot the sums of each month.
frame.groupby("month").price.sum().plot()
=
python
logging.basicConfig(level=logging.INFO)
logger.info("Server started on port 8080.")
logger.warning("Disk is almost full (%d%%).", 91)
=
python
def test_push():
    stack = Stack()
    stack.push(1)
    # The stack has one item now.
    assert len(stack.items) == 1
=
python
# We use a set here, because looking up an item takes constant time.
seen = set()
=
python
def retry(times=3):
    """Decorator that calls a function again if it raises.

    Args:
        times: how often to try at most; 3 by default.
    """
=
python
MAX_SIZE = 10 * 1024 * 1024  # Uploads may have at most 10 MB.
=
python
x = 10
if x > 5:
    print("x is greater than 5.")
else:
    print("x is not greater than 5.")
=
js
// Fetch the list of users, then show their names.
const response = await fetch("/users");
if (!response.ok) throw new Error(`Request failed with status ${response.status}.`);
const users = await response.json();
=
js
/**
 * Debounces a function: it runs only after 300 ms without a call.
 */
function debounce(run, wait = 300) {
  let timer;
  return (...args) => {
    clearTimeout(timer); // Cancel the earlier call.
    timer = setTimeout(() => run(...args), wait);
  };
}
=
js
document.querySelector("#send").addEventListener("click", () => {
  alert("Thank you! Your message was sent.");
});
=
ts
// This type says that every field is optional.
type Patch<T> = { [key in keyof T]?: T[key] };
=
html
<!-- The form sends its fields by POST. -->
<form method="post" action="/login">
  <label for="name">Your name</label>
  <input id="name" name="name" placeholder="Enter your name here">
  <button>Log in</button>
</form>
=
html
<nav>
  <a href="/" title="Back to the start page">Home</a>
  <!-- Links to the other 3 pages follow. -->
</nav>
=
css
/* Center the box in both directions. */
.box { display: grid; place-items: center; }
=
sql
-- Find all orders of the last 30 days.
SELECT * FROM orders WHERE created_at > now() - interval '30 days';
=
sql
-- An index makes this query fast on large tables.
CREATE INDEX orders_by_user ON orders (user_id);
=
sh
# Install the packages, then start the server.
npm install
npm start
echo "The server is running on http://localhost:3000"
=
sh
set -euo pipefail
if [ $# -lt 2 ]; then
  echo "Usage: $0 SOURCE TARGET" >&2
  exit 1
fi
cp -r "$1" "$2"
echo "Copied all files to the target folder."
=
java
// The main method is where the program starts.
public static void main(String[] args) {
    System.out.println("The result is " + add(2, 3));
}
=
java
if (amount <= 0) {
    throw new IllegalArgumentException("The amount must be positive.");
}
balance -= amount; // The balance may not become negative.
=
c
/* Returns the number of characters, without the final zero. */
size_t length(const char *text) {
    size_t count = 0;
    while (text[count] != '\0') count++;
    return count;
}
=
c
printf("Enter a number between 1 and 100: ");
if (scanf("%d", &guess) != 1) {
    printf("That was not a number.\n");
}
=
go
// Sum adds all numbers in parallel, using 4 workers.
func Sum(numbers []int) int {
=
go
if err != nil {
	log.Fatal("Could not open the database: ", err)
}
defer db.Close() // The database is closed when the function returns.
=
rust
/// Splits a text at the first colon.
///
/// Returns `None` if the text has no colon.
fn split(text: &str) -> Option<(&str, &str)> {
    text.split_once(':')
}
=
rust
let port: u16 = env::var("PORT").expect("The variable PORT must be set.").parse()?;
=
yaml
# Run the tests on every push to the main branch.
on:
  push:
    branches: [main]
jobs:
  test:
    runs-on: ubuntu-latest
    timeout-minutes: 10 # Stop the job if it takes longer than 10 minutes.
=
yaml
services:
  web:
    image: nginx:1.25
    ports: ["8080:80"]
    restart: always
=
json
{"name": "my-app", "version": "1.0.0", "description": "A small app that shows the weather."}
=
toml
[tool.ruff]
line-length = 120 # Lines may be longer than the default of 88.
=
dockerfile
FROM python:3.12-slim
# Copy the requirements first, so that the layer can be cached.
COPY requirements.txt .
RUN pip install -r requirements.txt
CMD ["python", "app.py"]
=
ruby
# Prints the first ten squares.
(1..10).each { |n| puts "The square of #{n} is #{n * n}." }
=
php
<?php
// Check that the user is logged in.
if (!isset($_SESSION["user"])) {
    die("You have to log in first.");
}
'''
LEADS = ("Here is how:", "Sure! This does it:", "You can write it like this:", "")


def _answers() -> tuple[str, ...]:
    parts = [part.strip("\n") for part in _ANSWERS.split("\n=\n")]
    return tuple(f"{LEADS[number % len(LEADS)]}\n```{part}\n```".strip() for number, part in enumerate(parts))


ANSWERS = _answers()
ASKED = "Can you show me how to write that as code?"
MANUAL = (
    "Ferry service to Lisk. The ferry departs at 7 am and returns at 6 pm. Tickets cost 12 euros; children under 6 travel "
    "free. Send us a message or call the harbour office, which is open from 9 am to 4 pm. Orders of group tickets take 5 days."
)
"""A document of another domain."""
GUIDE = (
    "Style guide for programs. Sort a list with sorted and a key. Use a set to look up items. A function has a docstring. "
    "The server of the project runs on port 8000. Tests run on every push. Uploads may have at most 20 MB. Lines have at most "
    "100 characters. Wait for 10 seconds before the next attempt, and try at most 5 times."
)
"""A document about programs, which some answers do not follow."""
