-- Every committed example of the wire, decoded as each Neovim decodes it, fits its generated class. Needs no plugin:
-- nvim --clean -l editors/nvim/tests/generated_types.lua
local PLUGIN = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h')
local ROOT = vim.fn.fnamemodify(PLUGIN, ':h:h')
package.path = PLUGIN .. '/tests/?.lua;' .. package.path
local classes = require('support.classes').read(PLUGIN .. '/tests/types.gen.lua')

local DECODERS = {
  ['null as vim.NIL'] = {},
  ['null as nil'] = { luanil = { object = true } },
}

local function read(path, options) return vim.json.decode(table.concat(vim.fn.readfile(path), '\n'), options or {}) end

---Returns the class of every example by its name, from `methods.json`.
local function class_names()
  local names = { client = 'ClientAbilities', settings = 'Settings' }
  local document = read(ROOT .. '/protocol/methods.json')
  for _, method in ipairs(vim.list_extend(document.methods, document.clientMethods)) do
    names[method.name:gsub('/', '.') .. '.params'] = method.params
    names[method.name:gsub('/', '.') .. '.result'] = method.result
  end
  for _, notification in ipairs(document.notifications) do
    names[notification.name:gsub('/', '.') .. '.params'] = notification.params
  end
  return names
end

local CLASS_NAMES = class_names()

local function class_of(name)
  local kind = name:match('^(%a+)%.')
  if kind == 'update' then
    return 'SessionNotification'
  elseif kind == 'error' then
    return 'ErrorObject'
  end
  -- `context.compact.preview.params` is a variant of `context.compact.params`.
  return CLASS_NAMES[name] or CLASS_NAMES[name:gsub('^(%a+%.[%a_]+)%..*%.(%a+)$', '%1.%2')]
end

local function examples(pattern, options)
  local found = {}
  for path in vim.fs.dir(ROOT .. '/protocol/examples') do
    local name = path:match('^(.*)%.json$')
    if name and name:find(pattern) then found[name] = read(ROOT .. '/protocol/examples/' .. path, options) end
  end
  assert(next(found), 'no example is called ' .. pattern)
  return found
end

local tests = {}

function tests.every_example_is_of_its_class(options)
  for name, value in pairs(examples('.', options)) do
    local faults = classes:faults(value, 'ullage.' .. class_of(name))
    assert(#faults == 0, name .. ': ' .. table.concat(faults, '; '))
  end
end

function tests.what_is_too_much_or_too_little_is_noticed(options)
  local result = examples('^session%.new%.result$', options)['session.new.result']
  result.usage.used = nil
  result.more = 1
  local faults = classes:faults(result, 'ullage.SessionResult')
  table.sort(faults)
  assert(vim.deep_equal(faults, { 'more is in no class', 'usage.used is missing' }), vim.inspect(faults))
end

local failed = 0
for name, test in vim.spairs(tests) do
  for decoder, options in vim.spairs(DECODERS) do
    local fine, problem = xpcall(test, debug.traceback, options)
    failed = failed + (fine and 0 or 1)
    io.write(
      ('%s %s, %s\n%s'):format(fine and 'ok  ' or 'FAIL', name:gsub('_', ' '), decoder, fine and '' or problem .. '\n')
    )
  end
end
os.exit(failed == 0 and 0 or 1)
