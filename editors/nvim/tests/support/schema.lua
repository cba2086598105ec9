-- The types of `protocol/schema.json`, by which a test leaves out of a value what may be missing or null.
local Schema = {}
Schema.__index = Schema

local function read(path) return vim.json.decode(table.concat(vim.fn.readfile(path), '\n')) end

---@param root string the repository
function Schema.read(root)
  local kinds = read(root .. '/protocol/schema.json')['$defs']
  return setmetatable({ kinds = kinds, optional = read(root .. '/editors/nvim/tests/optional.gen.json') }, Schema)
end

---Whether a value has what an object of the type must have, and its tag.
local function is_object(value, kind)
  return vim.iter(kind.required or {}):all(function(name)
    local words = kind.properties[name].enum
    return value[name] ~= nil and not (words and #words == 1 and value[name] ~= words[1])
  end)
end

---Returns the type that fits the value, of several alternatives the first one, and its name.
function Schema:resolve(kind, value)
  local name = kind['$ref'] and kind['$ref']:match('[^/]+$')
  if name then return self.kinds[name], name end
  for _, each in ipairs(kind.anyOf or {}) do
    local known, its_name = self:resolve(each, value)
    local fits = known.properties and is_object(value, known) or (known.items and vim.islist(value))
    if fits then return known, its_name end
  end
  return kind, nil
end

---Returns a copy of a value of the type without any member that may be missing.
---@param kind table
function Schema:bare(value, kind)
  if type(value) ~= 'table' then return value end
  local known, name = self:resolve(kind, value)
  local optional, copy = self.optional[name] or {}, {}
  for key, each in pairs(value) do
    local inner = known.items or (known.properties or {})[key] or {}
    if not vim.tbl_contains(optional, key) then copy[key] = self:bare(each, inner) end
  end
  return copy
end

---Returns a copy of a value without any member that may be missing.
function Schema:bare_of(value, name) return self:bare(value, { ['$ref'] = name }) end

return Schema
