-- Reads LuaCATS classes and checks values with them, as far as generated classes need it: exact classes, aliases of
-- words or classes, lists, tables and one level of inline objects.
local Classes = {}
Classes.__index = Classes

local PLAIN = { string = 'string', boolean = 'boolean', number = 'number', integer = 'number' }

---@param path string
function Classes.read(path)
  local self = setmetatable({ fields = {}, aliases = {} }, Classes)
  local current
  for line in io.lines(path) do
    current = line:match('^%-%-%-@class %(exact%) (%S+)') or current
    local alias, meaning = line:match('^%-%-%-@alias (%S+) (.+)$')
    local name, optional, kind = line:match('^%-%-%-@field ([%w_]+)(%??) (.+)$')
    if alias then
      self.aliases[alias] = meaning
    elseif name then
      self.fields[current][name] = { kind = Classes.first_type(kind), optional = optional == '?' }
    elseif line:find('^%-%-%-@class') then
      self.fields[current] = {}
    end
  end
  return self
end

---Returns the parts of a text between the separators that stand in no brackets.
---@param separator string one character
local function parts(text, separator)
  local found, depth, start = {}, 0, 1
  for place = 1, #text do
    local sign = text:sub(place, place)
    if sign:find('[<{(]') then
      depth = depth + 1
    elseif sign:find('[>})]') then
      depth = depth - 1
    elseif sign == separator and depth == 0 then
      found[#found + 1] = text:sub(start, place - 1)
      start = place + 1
    end
  end
  found[#found + 1] = text:sub(start)
  return found
end

---Returns the type at the beginning of the text after a field's name. A description may follow the type.
function Classes.first_type(text) return parts(text, ' ')[1] end

---@return string[] faults empty if the value is of the type
function Classes:faults(value, kind, path)
  path = path or ''
  local found
  for _, alternative in ipairs(self:alternatives(kind)) do
    local faults = self:faults_of_one(value, alternative, path)
    if #faults == 0 then return {} end
    -- Of several alternatives the one with the fitting tag is the most useful: it has the fewest faults.
    found = (not found or #faults < #found) and faults or found
  end
  return found
end

---Returns the types of a union, with aliases resolved.
function Classes:alternatives(kind)
  kind = self.aliases[kind] or kind
  return parts(kind:match('^%((.+)%)$') or kind, '|')
end

local function is_any() return true end

function Classes:faults_of_one(value, kind, path)
  if kind == 'any' or (kind == 'vim.NIL' and value == vim.NIL) then
    return {}
  elseif kind:find('%[%]$') then
    return self:faults_of_each(value, kind:sub(1, -3), path, vim.islist)
  elseif kind:find('^table<string, ') then
    return self:faults_of_each(value, kind:match('^table<string, (.+)>$'), path, is_any)
  elseif kind:find('^{') then
    local name, inner = kind:match('^{ ([%w_]+): (%S+) }$')
    return self:faults_of_fields(value, { [name] = { kind = inner } }, path)
  elseif self.fields[kind] then
    return self:faults_of_fields(value, self.fields[kind], path)
  elseif self.aliases[kind] then
    return self:faults(value, kind, path)
  end
  local fits = kind == vim.inspect(value) or type(value) == PLAIN[kind]
  return fits and (kind ~= 'integer' or value % 1 == 0) and {} or { path .. ' is no ' .. kind }
end

---Returns a copy of a value of the type without any field that may be left out.
function Classes:bare(value, kind)
  if type(value) ~= 'table' then return value end
  for _, alternative in ipairs(self:alternatives(kind)) do
    if self.aliases[alternative] then
      return self:bare(value, alternative)
    elseif #self:faults_of_one(value, alternative, '') == 0 then
      return self:bare_of_one(value, alternative)
    end
  end
  return value
end

function Classes:bare_of_one(value, kind)
  local element = kind:match('^(.+)%[%]$')
  local name, inner = kind:match('^{ ([%w_]+): (%S+) }$')
  local fields = name and { [name] = { kind = inner } } or self.fields[kind]
  local copy = {}
  for key, each in pairs(value) do
    if element then
      copy[key] = self:bare(each, element)
    elseif not fields then
      copy[key] = each
    elseif not fields[key].optional then
      copy[key] = self:bare(each, fields[key].kind)
    end
  end
  return copy
end

function Classes:faults_of_each(value, kind, path, is_right)
  if type(value) ~= 'table' or not is_right(value) then return { path .. ' is no table of ' .. kind } end
  local faults = {}
  for key, each in pairs(value) do
    vim.list_extend(faults, self:faults(each, kind, ('%s[%s]'):format(path, key)))
  end
  return faults
end

function Classes:faults_of_fields(value, fields, path)
  if type(value) ~= 'table' then return { path .. ' is no object' } end
  local prefix = path == '' and '' or path .. '.'
  local faults = {}
  for name in pairs(value) do
    if not fields[name] then faults[#faults + 1] = prefix .. name .. ' is in no class' end
  end
  for name, field in pairs(fields) do
    if value[name] ~= nil then
      vim.list_extend(faults, self:faults(value[name], field.kind, prefix .. name))
    elseif not field.optional then
      faults[#faults + 1] = prefix .. name .. ' is missing'
    end
  end
  return faults
end

return Classes
