-- Formats figures and times for users, in the same words as the server's `model/words.py`.
local M = {}

local function round(number)
  return math.floor(number + 0.5)
end

local function trimmed(number)
  return (('%.1f'):format(number):gsub('%.0$', ''))
end

---Formats tokens where there is little room: `950`, `4.2K`, `58K`, `1.2M`.
---@param tokens integer
---@return string
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
---@return string
function M.money(cost)
  local digits = (cost.amount < 1 and '%.3f' or '%.2f'):format(cost.amount)
  return cost.currency == 'USD' and '$' .. digits or digits .. ' ' .. cost.currency
end

---@param before integer
---@param after integer
---@return string
function M.shrinking(before, after)
  return ('%s → %s'):format(M.short(before), M.short(after))
end

---@param part integer
---@param whole integer
---@return integer
function M.percent(part, whole)
  return round(100 * part / whole)
end

---Formats a number as `12,345`.
---@param number integer
---@return string
function M.grouped(number)
  local text = tostring(round(number)):reverse():gsub('(%d%d%d)', '%1,'):reverse()
  return (text:gsub('^,', ''))
end

---@param count integer
---@param noun string
---@return string
function M.count(count, noun)
  return ('%s %s%s'):format(M.grouped(count), noun, count == 1 and '' or 's')
end

local UNITS = { { 86400, 'day' }, { 3600, 'hour' }, { 60, 'minute' } }

---Returns `2 hours ago` for a time in Unix milliseconds.
---@param timestamp integer
---@param now? integer Unix seconds
---@return string
function M.ago(timestamp, now)
  local seconds = (now or os.time()) - math.floor(timestamp / 1000)
  for _, unit in ipairs(UNITS) do
    if seconds >= unit[1] then
      return M.count(math.floor(seconds / unit[1]), unit[2]) .. ' ago'
    end
  end
  return seconds < 5 and 'just now' or (seconds .. ' s ago')
end

---@param text string
---@param cells integer
---@return string
function M.fit(text, cells)
  if vim.fn.strdisplaywidth(text) <= cells then
    return text
  end
  return vim.fn.strcharpart(text, 0, math.max(cells - 1, 0)) .. '…'
end

---Returns the first line that is not blank, without blanks around it.
---@param text string
---@return string
function M.first_line(text)
  local line = text:match('%S[^\n]*') or ''
  return (line:gsub('%s+$', ''):gsub('%c', ' '))
end

---Breaks a long line at blanks. A line without blanks stays whole.
---@param line string
---@param width integer bytes, the same as cells for most text that is shown here
---@return string[]
function M.wrap(line, width)
  local indent = line:match('^%s*[-*]?%s*'):gsub('[-*]', ' ')
  local lines, current = {}, ''
  for word in line:gmatch('%s*%S+') do
    if #current > 0 and #current + #word > width then
      lines[#lines + 1] = current
      current = indent .. word:gsub('^%s+', '')
    else
      current = current .. word
    end
  end
  lines[#lines + 1] = current
  return lines
end

---Converts JSON's null to nil. Neovim's version decides whether a nested null arrives as |vim.NIL| or as nil.
---@generic T
---@param value T
---@return T?
function M.value(value)
  if value == vim.NIL then
    return nil
  end
  return value
end

return M
