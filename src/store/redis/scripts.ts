/** A Lua script, with what the server knows it by: the SHA-1 of its text, which a test compares. */
export interface Script {
  readonly text: string
  readonly sha: string
}

// All keys of a store begin with the same hash tag, so that they are on one node of a cluster:
//
//   {prefix}:store                     hash     revision: of the last write. start: the revision before the first one.
//                                               For each kind, "dropped GROUP/KIND": the newest
//                                               change that is no longer in the log, and "bytes
//                                               GROUP/KIND": the size of the log
//   {prefix}:documents:GROUP/KIND      hash     "namespace,name" -> revision, line end, text
//   {prefix}:order:GROUP/KIND          zset     the fields of that hash. A comma sorts below whatever names are made of, so that the order
//                                               of these texts is that by namespace, then name
//   {prefix}:changes:GROUP/KIND        stream   <revision>-0: k (the field), b (text before, or empty), a (text after, or empty)
//   {prefix}:sizes:GROUP/KIND          list     for each entry of the stream: revision, space, size
//   {prefix}:request:ID                string   for ten minutes: the revision that a request got, and what it had asked for
//
// Values stay texts: Lua has no numbers beyond 2^53. A script is not undone when it fails: whatever
// can fail has to, before the first write.

const HELPERS = `
local function less(a, b)
  return #a < #b or (#a == #b and a < b)
end
`

/**
 * KEYS store, documents, order, changes, sizes, request. ARGV field, revision that is expected or
 * empty, text or empty, GROUP/KIND, history, bytes of history, seconds that requests are
 * remembered.
 *
 * Gives {'done', revision}, {'stale'}, {'reused'} if the request is another one of that id, or
 * {'partial', problem} if it failed midway.
 *
 * What is beyond the history goes a thousand changes at a time, so that no write holds the server
 * up after the history was made shorter.
 *
 * The first revision comes from the clock, so that a store that was emptied gives none twice. Right
 * to use a command: asked for where the server can tell (Redis 7), because a command that is not
 * allowed would end the script halfway. Memory, replicas and disk are looked at by the server
 * before the first write of a script, and not again.
 */
const COMMIT = `
local store, documents, order, changes, sizes, request = unpack(KEYS)
local field, expected, text, kind = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local history, historyBytes, seconds = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]

local asked = expected .. ' ' .. kind .. ' ' .. field
local told = redis.call('GET', request)
if told then
  local at = string.find(told, ' ', 1, true)
  if string.sub(told, at + 1) ~= asked then return {'reused'} end
  return {'done', string.sub(told, 1, at - 1)}
end

local revision, before = '', ''
local value = redis.call('HGET', documents, field)
if value then
  local at = string.find(value, '\\n', 1, true)
  revision, before = string.sub(value, 1, at - 1), string.sub(value, at + 1)
end
if revision ~= expected then return {'stale'} end

redis.call('ZSCORE', order, field)
redis.call('XLEN', changes)
local kept = redis.call('LLEN', sizes) + 1
local last, bytes = unpack(redis.call('HMGET', store, 'revision', 'bytes ' .. kind))
bytes = tonumber(bytes or '0') or 0
if redis.acl_check_cmd then
  local commands = {
    {'HSET', store, 'revision', '0'}, {'HINCRBY', store, 'revision', '1'}, {'XADD', changes, '1-0', 'k', field},
    {'HSET', documents, field, text}, {'ZADD', order, '0', field}, {'HDEL', documents, field}, {'ZREM', order, field},
    {'RPUSH', sizes, '0'}, {'LPOP', sizes}, {'XTRIM', changes, 'MAXLEN', '1'}, {'SET', request, '0', 'EX', seconds}
  }
  for _, command in ipairs(commands) do
    if not redis.acl_check_cmd(unpack(command)) then
      return redis.error_reply('NOPERM this user may not run ' .. command[1] .. ' on the keys of the store')
    end
  end
end

if not last then
  local time = redis.call('TIME')
  last = time[1] .. string.format('%06d', time[2])
  redis.call('HSET', store, 'revision', last, 'start', last)
end
redis.call('HINCRBY', store, 'revision', 1)
local after = redis.call('HGET', store, 'revision')
redis.call('XADD', changes, after .. '-0', 'k', field, 'b', before, 'a', text)

local wrote, problem = pcall(function()
  if text == '' then
    redis.call('HDEL', documents, field)
    redis.call('ZREM', order, field)
  else
    redis.call('HSET', documents, field, after .. '\\n' .. text)
    redis.call('ZADD', order, 0, field)
  end
  local size = #field + #before + #text
  redis.call('RPUSH', sizes, after .. ' ' .. size)
  bytes = bytes + size
  local dropped
  local least = math.max(1, kept - 1000)
  while kept > least and (kept > history or bytes > historyBytes) do
    local oldest = redis.call('LPOP', sizes)
    local at = string.find(oldest, ' ', 1, true)
    dropped = string.sub(oldest, 1, at - 1)
    bytes = bytes - tonumber(string.sub(oldest, at + 1))
    kept = kept - 1
  end
  if dropped then
    redis.call('XTRIM', changes, 'MAXLEN', kept)
    redis.call('HSET', store, 'dropped ' .. kind, dropped)
  end
  redis.call('HSET', store, 'bytes ' .. kind, string.format('%.0f', bytes))
  redis.call('SET', request, after .. ' ' .. asked, 'EX', seconds)
end)
if not wrote then
  return {'partial', type(problem) == 'table' and problem.err or tostring(problem)}
end
redis.pcall('PUBLISH', store .. ':changes', after)
return {'done', after}
`

/**
 * KEYS documents. ARGV field. Gives the value, or nothing. A script is never sent to a replica,
 * where a plain HGET may be.
 */
const READ = `
return redis.call('HGET', KEYS[1], ARGV[1])
`

/** KEYS request. Gives what {@link COMMIT} has noted of a request, or nothing. */
const REQUEST = `
return redis.call('GET', KEYS[1])
`

/**
 * KEYS store, documents, order. ARGV from and to as ZRANGEBYLEX has them, how many or -1, bytes of
 * all values or -1 (one value at least).
 *
 * Gives {revision, 'more' or '', fields, {value, value ...}, fields, {value ...} ...}: the fields,
 * which are short, as one text with a line for each, because it is the number of texts that costs
 * server and client most.
 *
 * How many documents are looked at together follows from how large they have been, so that none of
 * these steps is too large.
 */
const SCAN = `
local store, documents, order = unpack(KEYS)
local from, to, limit, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local answer = {redis.call('HGET', store, 'revision') or '0', ''}
local count, size, step = 0, 0, 32
while true do
  if limit >= 0 then step = math.min(step, limit - count + 1) end
  local fields = redis.call('ZRANGEBYLEX', order, from, to, 'LIMIT', 0, step)
  if #fields == 0 then return answer end
  local values = redis.call('HMGET', documents, unpack(fields))
  local last = #fields
  for i = 1, #fields do
    if not values[i] then return redis.error_reply('ERR ' .. documents .. ' has no ' .. fields[i]) end
    size = size + #values[i]
    if count == limit or (bytes >= 0 and count > 0 and size > bytes) then
      last = i - 1
      break
    end
    count = count + 1
  end
  if last < #fields then
    answer[2] = 'more'
    for i = #fields, last + 1, -1 do fields[i], values[i] = nil, nil end
  end
  if last > 0 then
    answer[#answer + 1] = table.concat(fields, '\\n')
    answer[#answer + 1] = values
  end
  if answer[2] ~= '' then return answer end
  from = '(' .. fields[#fields]
  step = math.max(1, math.min(512, math.floor(1048576 * count / size)))
end
`

/**
 * KEYS store, changes. ARGV revision or empty, GROUP/KIND, "namespace," or empty, how many, bytes
 * of all texts (one change at least), how many to look at.
 *
 * Gives {'gone', oldest} or {'page', revision up to which it is whole, 'more' or '', revision,
 * field, before, after, revision ...}.
 */
const CHANGES = `${HELPERS}
local store, changes = KEYS[1], KEYS[2]
local after, kind, namespace = ARGV[1], ARGV[2], ARGV[3]
local limit, bytes, looks = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

local revision = redis.call('HGET', store, 'revision') or '0'
if after == '' then return {'page', revision, ''} end
local start = redis.call('HGET', store, 'start') or '0'
local dropped = redis.call('HGET', store, 'dropped ' .. kind) or '0'
local oldest = less(start, dropped) and dropped or start
-- 0 is the revision of an empty store, whatever was in it before
if less(revision, after) or less(after, dropped) or (after ~= '0' and less(after, start)) then return {'gone', oldest} end

local answer = {'page', revision, ''}
local count, size, looked, reached = 0, 0, 0, after
while true do
  local entries = redis.call('XRANGE', changes, reached .. '-1', '+', 'COUNT', 32)
  for _, entry in ipairs(entries) do
    local id, values = entry[1], entry[2]
    local field, before, text = values[2], values[4], values[6]
    local isIn = string.sub(field, 1, #namespace) == namespace
    if isIn then size = size + #before + #text end
    if looked == looks or (isIn and (count == limit or (count > 0 and size > bytes))) then
      answer[2], answer[3] = reached, 'more'
      return answer
    end
    looked = looked + 1
    reached = string.sub(id, 1, string.find(id, '-', 1, true) - 1)
    if isIn then
      count = count + 1
      local at = #answer
      answer[at + 1], answer[at + 2], answer[at + 3], answer[at + 4] = reached, field, before, text
    end
  end
  if #entries < 32 then return answer end
end
`

export const commitScript: Script = { text: COMMIT, sha: '31f3ca4c110d4965ade36eb072ee7cb36aac5827' }
export const requestScript: Script = { text: REQUEST, sha: 'b46d2901e2494c0170ae9f43a1274cd30db2ad18' }
export const readScript: Script = { text: READ, sha: '5b6675c7c79194ad8875881647809c026c4af23b' }
export const scanScript: Script = { text: SCAN, sha: '9e7bfe6d414b084b2510e99ab9e7ec791cced3c7' }
export const changesScript: Script = { text: CHANGES, sha: '40ac05621155139696fea05305eaedf8f97f39d5' }
