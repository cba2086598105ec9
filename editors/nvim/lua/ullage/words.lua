-- Formats figures and times for users, in the same words as the server's `model/words.py`.
local M = {}

local function round(number) return math.floor(number + 0.5) end

local function trimmed(number) return (('%.1f'):format(number):gsub('%.0$', '')) end

---Formats tokens where there is little room: `950`, `4.2K`, `58K`, `1.2M`.
function M.short(tokens)
  if tokens < 1000 then
    return tostring(round(tokens))
  elseif tokens < 9950 then
    return trimmed(tokens / 1000) .. 'K'
  elseif tokens < 999500 then
    return round(tokens / 1000) .. 'K'
  end
  return trimmed(tokens / 1000000) .. 'M'
end

---Formats a cost: `$0.042`, `$12.30`; other currencies by their names.
---@param cost ullage.Cost
function M.money(cost)
  local digits = (cost.amount < 1 and '%.3f' or '%.2f'):format(cost.amount)
  return cost.currency == 'USD' and '$' .. digits or digits .. ' ' .. cost.currency
end

function M.shrinking(before, after) return ('%s → %s'):format(M.short(before), M.short(after)) end

function M.percent(part, whole) return round(100 * part / whole) end

---Formats a number as `12,345`.
function M.grouped(number)
  local text = tostring(round(number)):reverse():gsub('(%d%d%d)', '%1,'):reverse()
  return (text:gsub('^,', ''))
end

function M.count(count, noun) return ('%s %s%s'):format(M.grouped(count), noun, count == 1 and '' or 's') end

---Formats a range of model calls: `6+ calls`, or `0–3 calls`. The most is far above the least and says nothing.
function M.calls(low, high)
  local number = low == high and M.grouped(low)
    or low > 0 and M.grouped(low) .. '+'
    or ('0–%s'):format(M.grouped(high))
  return ('%s %s'):format(number, high == 1 and 'call' or 'calls')
end

---Formats the model calls that are likely to be left until a compaction, or until the window is full if there will be
---none: `6+ calls left`.
function M.calls_left(low, high, compacts)
  if high <= 0 then return compacts and 'compacts with the next call' or 'no room for the next call' end
  return M.calls(low, high) .. ' left'
end

local UNITS = { { 86400, 'day' }, { 3600, 'hour' }, { 60, 'minute' } }

---Returns `2 hours ago` for a time in Unix milliseconds.
---@param now? integer Unix seconds
function M.ago(timestamp, now)
  local seconds = (now or os.time()) - math.floor(timestamp / 1000)
  for _, unit in ipairs(UNITS) do
    if seconds >= unit[1] then return M.count(math.floor(seconds / unit[1]), unit[2]) .. ' ago' end
  end
  return seconds < 5 and 'just now' or (seconds .. ' s ago')
end

---Returns the same where there is little room: `2h ago`.
function M.ago_short(timestamp) return (M.ago(timestamp):gsub('^([%d,]+) (%l)%l* ago$', '%1%2 ago')) end

function M.fit(text, cells)
  if vim.fn.strdisplaywidth(text) <= cells then return text end
  return vim.fn.strcharpart(text, 0, math.max(cells - 1, 0)) .. '…'
end

---Returns the first line that is not blank, without blanks around it and without a terminal's colours.
function M.first_line(text)
  local line = text:match('%S[^\n]*') or ''
  return (line:gsub('\27%[[%d;?]*%a', ''):gsub('%s+$', ''):gsub('%c', ' '))
end

---Returns a text's first line as a user would write it: a command that an agent keeps in tags is `/name arguments`, and
---what the agent's program wrote around it is left out. Empty if only the program's marks are left.
function M.plain(text)
  local name = text:match('<command%-name>%s*/?([^<]*)') or text:match('^%s*<command%-message>%s*/?([^<…]*)')
  if name and name ~= '' then
    local arguments = vim.trim(text:match('<command%-args>(.-)</command%-args>') or '')
    return M.first_line('/' .. vim.trim(name) .. (arguments ~= '' and ' ' .. arguments or ''))
  end
  local output = text:match('^%s*<local%-command%-%l+>(.*)')
  -- A line that is only the opening of a tag says nothing.
  local body = (output or text):gsub('^%s*<%l[%w_-]*>%s*\n', '')
  local rest = body:gsub('</?local%-command%-%l+>', ''):gsub('</?command%-%l+>', '')
  return M.first_line(rest)
end

---Returns the number by which users name a message, `#41`. Users count from 1, as in every list, summary and command; the
---wire has the index, from 0.
function M.number(index) return '#' .. (index + 1) end

---Returns a copy of a value of the wire whose fields have names in snake case, at the first level.
---@param wire table<string, any>
---@return table<string, any>
function M.in_snake_case(wire)
  local copy = {}
  for name, value in pairs(wire) do
    copy[name:gsub('%u', '_%0'):lower()] = value
  end
  return copy
end

---Returns one field of each element of a list.
---@return any[]
function M.pluck(list, field)
  return vim.tbl_map(function(each) return each[field] end, list)
end

---Replaces JSON's null by nil in a value of the wire, so that no caller meets |vim.NIL|. Elements of a list keep it,
---because a list with holes has no length.
---@generic T
---@param value T
---@return T?
function M.without_nil(value)
  if value == vim.NIL then
    return nil
  elseif type(value) == 'table' then
    for key, inner in pairs(value) do
      if inner == vim.NIL and type(key) == 'string' then
        value[key] = nil
      elseif type(inner) == 'table' then
        M.without_nil(inner)
      end
    end
  end
  return value
end

return M
