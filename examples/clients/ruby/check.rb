# check.rb: what the programs here share: a line for each check, and the vectors.
require "time"

# An id that a double cannot hold, and the day it was made.
OLD = 154173452582932603
MARCH_1 = Time.utc(2024, 3, 1)
MARCH_2 = Time.utc(2024, 3, 2)

$stdout.sync = true

def check(what, ok, seen = nil)
  puts ok ? "ok #{what}" : "not ok #{what}: #{seen.inspect}"
end

def same(what, seen, expected)
  check(what, seen == expected, [seen, expected])
end

# Passes if the block raises an error with these words.
def fails(what, words)
  yield
  check(what, false, "no error")
rescue StandardError => e
  check(what, e.message.include?(words), e.message)
end

def vectors(kind)
  File.readlines("#{__dir__}/../vectors.tsv", chomp: true)
      .map { |line| line.split("\t") }
      .select { |fields| fields[0] == kind }
      .map { |fields| fields.drop(1) }
end
