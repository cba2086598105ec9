-- `:help ullage`: it is found, and describes every command, key, option, setting and highlight group.
local editor = require('editor')
local eq = MiniTest.expect.equality

local PLUGIN = editor.ROOT .. '/editors/nvim'
local HELP = table.concat(vim.fn.readfile(PLUGIN .. '/doc/ullage.txt'), '\n')

local T = MiniTest.new_set()

---Returns the texts that the help does not contain.
local function missing(texts)
  return vim.tbl_filter(function(text) return not HELP:find(text, 1, true) end, texts)
end

T[':help finds the tags that come with the plugin'] = function()
  local child = editor.start({ bare = true })
  for _, tag in ipairs({ 'ullage', ':Ullage-lost', 'ullage-keys', 'ullage.append()' }) do
    child.cmd('help ' .. tag)
    eq(vim.fs.basename(child.api.nvim_buf_get_name(0)), 'ullage.txt')
    eq(child.api.nvim_get_current_line():find('*' .. tag .. '*', 1, true) ~= nil, true)
  end
  child.stop()
end

---Runs Lua in a Neovim without an init file, that finds packages in a folder of its own.
---@param site string
---@param add string
local function packed(site, add)
  local child = MiniTest.new_child_neovim()
  MiniTest.finally(child.stop)
  child.start({ '--clean' })
  child.lua('vim.opt.packpath:prepend(...)', { site })
  child.lua(add)
  child.cmd('help ullage-keys')
  eq(child.fn.expand('%:p'):find(site, 1, true), 1)
  eq(child.fn.exists(':Ullage'), 2)
  eq(child.fn.maparg('<Plug>(ullage-context)', 'n') ~= '', true)
end

T["Neovim's packages find the plugin and its help"] = function()
  local site = vim.uv.fs_realpath(vim.fs.dirname(vim.fn.tempname())) .. '/linked'
  vim.fn.mkdir(site .. '/pack/all/opt', 'p')
  vim.uv.fs_symlink(PLUGIN, site .. '/pack/all/opt/ullage')
  packed(site, "vim.cmd.packadd('ullage')")
end

T['the tags are those of the help; `:helptags editors/nvim/doc` writes them'] = function()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder)
  vim.fn.writefile(vim.split(HELP, '\n'), folder .. '/ullage.txt')
  vim.cmd.helptags(folder)
  eq(vim.fn.readfile(PLUGIN .. '/doc/tags'), vim.fn.readfile(folder .. '/tags'))
end

T['every command has a tag, and so has every one that is no more'] = function()
  local command = require('ullage.command')
  local tags = vim.tbl_map(function(name) return ('*:Ullage-%s*'):format(name) end, command.NAMES)
  eq(missing(tags), {})
  eq(missing(vim.tbl_map(function(name) return ('`%s`'):format(name) end, vim.tbl_keys(command.GONE))), {})
end

T['every key and its mapping is described, and no key shadows a motion'] = function()
  local motions =
    vim.split('h j k l w W b B e E f F t T 0 ^ $ g_ ge gE gg G H L M n N * # ; , / ? { } ( ) % z v V m', ' ')
  for _, key in ipairs(require('ullage.context.keys').KEYS) do
    eq({ key[1], HELP:find(('    %s +%s +%%l'):format(vim.pesc(key[1]), vim.pesc(key[2]))) ~= nil }, { key[1], true })
    eq({ key[1], vim.tbl_contains(motions, key[1]) }, { key[1], false })
  end
end

---Returns the names of the options that the validator knows.
local function options(rules)
  local names = {}
  for name, rule in pairs(rules) do
    names[#names + 1] = name .. ' ='
    vim.list_extend(names, type(rule) == 'table' and not vim.islist(rule) and options(rule) or {})
  end
  return names
end

T['every option is described'] = function() eq(missing(options(require('ullage.config').RULES)), {}) end

T['every setting is described, with the fields of models and providers'] = function()
  local names = {}
  local file = editor.ROOT .. '/protocol/settings.schema.json'
  local settings = vim.json.decode(table.concat(vim.fn.readfile(file), '\n')).properties
  for path, schema in pairs(settings) do
    names[#names + 1] = ('    %s '):format(path)
    local fields = type(schema.additionalProperties) == 'table' and schema.additionalProperties.properties or {}
    for field in pairs(fields) do
      names[#names + 1] = ('`%s`'):format(field)
    end
  end
  eq(missing(names), {})
end

T['a default that is told of a setting is its own'] = function()
  local file = editor.ROOT .. '/protocol/settings.schema.json'
  local settings = HELP:match('%*ullage%-settings%*\n(.-)%*ullage%-model%*')
  local told = 0
  for path, schema in pairs(vim.json.decode(table.concat(vim.fn.readfile(file), '\n')).properties) do
    local entry = (settings .. '\n'):match('\n    ' .. vim.pesc(path) .. ' (.-)\n%s?%s?%s?%s?%f[%S\n]') or ''
    local default = entry:match('%((%d[%d.]*)%)') or entry:match('%((true)%)') or entry:match('%((false)%)')
    if default then
      told = told + 1
      eq({ path, vim.json.decode(default) }, { path, schema.default })
    end
  end
  eq(told > 10, true)
end

T['every highlight group is described'] = function()
  local names = {}
  for group in pairs(require('ullage.highlights').LINKS) do
    names[#names + 1] = ('*hl-%s*'):format(group)
  end
  eq(missing(names), {})
end

return T
