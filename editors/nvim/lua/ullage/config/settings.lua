-- Checks the server's settings with the generated schema, so that a mistake is found before they are sent.
local M = {}

local LUA_TYPES = { integer = 'number', number = 'number', boolean = 'boolean', string = 'string' }

---@param value any
---@param kind string a type of JSON Schema
local function has_type(value, kind)
  if kind == 'array' then
    return type(value) == 'table' and vim.islist(value)
  elseif kind == 'object' then
    return type(value) == 'table' and (next(value) == nil or not vim.islist(value))
  elseif kind == 'integer' and type(value) == 'number' then
    return value % 1 == 0
  end
  return type(value) == LUA_TYPES[kind]
end

local function types_of(schema)
  local kinds = type(schema.type) == 'table' and schema.type or { schema.type }
  return vim.tbl_filter(function(kind)
    return kind ~= 'null'
  end, kinds)
end

---@return string? fault what is wrong with a plain value
local function fault_of(value, schema)
  if schema.enum and not vim.tbl_contains(schema.enum, value) then
    return ("must be one of '%s'"):format(table.concat(schema.enum, "', '"))
  end
  local kinds = types_of(schema)
  local fits = #kinds == 0
  for _, kind in ipairs(kinds) do
    fits = fits or has_type(value, kind)
  end
  if not fits then
    return 'must be of type ' .. table.concat(kinds, ' or ')
  elseif schema.exclusiveMinimum and value <= schema.exclusiveMinimum then
    return ('must be more than %s'):format(schema.exclusiveMinimum)
  elseif schema.minimum and value < schema.minimum then
    return ('must be at least %s'):format(schema.minimum)
  elseif schema.exclusiveMaximum and value >= schema.exclusiveMaximum then
    return ('must be less than %s'):format(schema.exclusiveMaximum)
  end
end

local judge

---@param properties table<string, table>
local function judge_fields(value, properties, path, faults)
  for key, inner in pairs(value) do
    if properties[key] then
      judge(inner, properties[key], path .. '.' .. key, faults)
    else
      local known = vim.tbl_keys(properties)
      table.sort(known)
      faults[#faults + 1] = ('%s.%s is not a setting; there are %s'):format(path, key, table.concat(known, ', '))
    end
  end
end

function judge(value, schema, path, faults)
  local fault = fault_of(value, schema)
  if fault then
    faults[#faults + 1] = ('%s %s, not %s'):format(path, fault, vim.inspect(value))
  elseif schema.properties then
    judge_fields(value, schema.properties, path, faults)
  elseif type(schema.additionalProperties) == 'table' then
    for key, inner in pairs(value) do
      judge(inner, schema.additionalProperties, ('%s["%s"]'):format(path, key), faults)
    end
  end
end

---Returns the schema as a nested table. The generated schema is flat (`context.warnAt`).
local function nested()
  local root = { type = 'object', properties = {} }
  for path, schema in pairs(require('ullage.generated').settings) do
    local section, key = path:match('^(.-)%.(.+)$')
    local parent = root
    if section then
      root.properties[section] = root.properties[section] or { type = 'object', properties = {} }
      parent = root.properties[section]
    end
    parent.properties[key or path] = schema
  end
  return root
end

---Returns the faults of the settings. Each is a line that begins with the setting's path.
---@param settings any
---@return string[]
function M.faults(settings)
  local faults = {}
  judge(settings, nested(), 'settings', faults)
  return faults
end

return M
