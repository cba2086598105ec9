-- Checks options. Every fault is one line that begins with the option's path.
local M = {}

---A rule returns nil, or what is wrong with the value.
---@alias ullage.Rule fun(value: any): string?

---@param kind string
---@return ullage.Rule
local function is(kind)
  return function(value)
    if type(value) ~= kind then
      return ('must be a %s, not %s'):format(kind, vim.inspect(value))
    end
  end
end

---@param ... string
---@return ullage.Rule
local function one_of(...)
  local words = { ... }
  return function(value)
    if not vim.tbl_contains(words, value) then
      return ("must be one of '%s', not %s"):format(table.concat(words, "', '"), vim.inspect(value))
    end
  end
end

---@param least number
---@return ullage.Rule
local function at_least(least)
  return function(value)
    if type(value) ~= 'number' or value < least then
      return ('must be a number of at least %d, not %s'):format(least, vim.inspect(value))
    end
  end
end

---@type ullage.Rule
local function command(value)
  local fault = 'must be a list of texts like { "ullage", "lsp" }, not ' .. vim.inspect(value)
  if type(value) ~= 'table' or #value == 0 then
    return fault
  end
  for _, word in ipairs(value) do
    if type(word) ~= 'string' then
      return fault
    end
  end
end

M.RULES = {
  cmd = command,
  store = is('string'),
  resume = is('boolean'),
  follow = is('boolean'),
  context = { open = one_of('vsplit', 'split', 'tab', 'current'), keys = is('boolean') },
  statusline = { done_seconds = at_least(0), start = is('boolean'), quiet = is('boolean') },
  notices = { level = one_of('info', 'warning', 'error', 'off') },
  recovery = { attempts = at_least(0), seconds = at_least(1) },
  -- The server checks what is in it, and says what it refuses.
  settings = is('table'),
}

---@param path string
---@param key any
local function join(path, key)
  return path == '' and tostring(key) or (path .. '.' .. tostring(key))
end

---@param value any
---@param rules table|ullage.Rule
---@param path string
---@param faults string[]
local function judge(value, rules, path, faults)
  if type(rules) == 'function' then
    local fault = rules(value)
    if fault then
      faults[#faults + 1] = ('%s %s'):format(path, fault)
    end
    return
  end
  if type(value) ~= 'table' then
    faults[#faults + 1] = ('%s must be a table, not %s'):format(
      path == '' and 'the options' or path,
      vim.inspect(value)
    )
    return
  end
  for key, inner in pairs(value) do
    local rule = rules[key]
    if rule then
      judge(inner, rule, join(path, key), faults)
    else
      local known = vim.tbl_keys(rules)
      table.sort(known)
      faults[#faults + 1] = ('%s is not an option; there are %s'):format(join(path, key), table.concat(known, ', '))
    end
  end
end

---Returns the faults of the given options, in the order of their paths; an empty list if there are none.
---@param options any
---@return string[]
function M.faults(options)
  local faults = {}
  judge(options, M.RULES, '', faults)
  table.sort(faults)
  return faults
end

return M
