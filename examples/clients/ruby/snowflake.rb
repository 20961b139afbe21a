# snowflake.rb: keys taken apart, and ranges of time put together.
module Snowflake
  EPOCH = Time.utc(2023, 1, 1)

  def self.parts(id)
    { created_at: EPOCH + Rational(id >> 22, 1000), shard: id >> 12 & 1023, sequence: id & 4095 }
  end

  # The smallest id of a time: rows made in March are those of first_id(1 March) or
  # above, and below first_id(1 April).
  def self.first_id(time)
    ((time.to_r - EPOCH.to_r) * 1000).floor << 22
  end

  # When a COMB, or any UUID of version 7, was made, to the millisecond.
  def self.comb_time(uuid)
    Time.at(Rational(uuid.delete("-")[0, 12].to_i(16), 1000)).utc
  end
end
