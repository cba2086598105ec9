-- `:Ullage wire` and `:Ullage unwire`: the change of an agent's settings, shown before it is made, with the real server.
local editor = require('editor')
local eq, has = MiniTest.expect.equality, editor.has

local SETTINGS = '{\n  // mine\n  "model": "opus"\n}'

local child, path

local function before_each()
  -- In the home folder, which is the test's own.
  local folder = vim.fn.tempname() .. '-agent'
  vim.fn.mkdir(folder, 'p')
  vim.env.CLAUDE_CONFIG_DIR = folder
  path = folder .. '/settings.json'
  vim.fn.writefile(vim.split(SETTINGS, '\n'), path, 'b')
  child = editor.start()
end

local T = editor.set(before_each)

local function settings() return table.concat(vim.fn.readfile(path, 'b'), '\n') end

---Runs a command and waits for its preview.
local function preview(command)
  child.cmd(command)
  editor.wait(child, "vim.api.nvim_buf_get_name(0):find('ullage://wiring', 1, true) ~= nil")
end

T['a difference is shown before anything happens, and :w makes exactly that change'] = function()
  preview('Ullage wire claude-code')
  local shown = editor.lines(child)
  eq({ shown[1]:sub(1, 4), shown[2]:sub(1, 4) }, { '--- ', '+++ ' })
  has('settings%.json$', shown[2])
  editor.line_with(child, '+  "hooks": {')
  editor.line_with(child, '# Claude Code: It takes effect in its next session, or at once.')
  eq({ child.bo.filetype, child.bo.modifiable, settings() }, { 'diff', false, SETTINGS })
  child.cmd('write')
  editor.wait_said(child, 'Claude Code: changed')
  has('hook claude%-code', settings())
  eq(child.fn.bufnr('ullage://wiring'), -1)
end

T['the first question of all offers it, and shows the change before it is made'] = function()
  MiniTest.finally(function()
    -- The answer is kept, and other cases have the same folder.
    child.lua("vim.fn.delete(vim.fn.stdpath('state') .. '/ullage/follow')")
  end)
  editor.answer(child, 2)
  child.cmd('Ullage agents')
  has('^Follow them, and give back', child.lua_get('_G.asked[1].items[2]'))
  editor.wait(child, "vim.api.nvim_buf_get_name(0):find('ullage://wiring', 1, true) ~= nil")
  editor.line_with(child, '+  "hooks": {')
  eq(settings(), SETTINGS)
  child.type_keys('q')
  editor.wait_said(child, 'Nothing was changed.')
end

T['q leaves everything as it is'] = function()
  preview('Ullage wire claude-code')
  child.type_keys('q')
  editor.wait_said(child, 'Nothing was changed.')
  eq(settings(), SETTINGS)
  eq(child.fn.bufnr('ullage://wiring'), -1)
end

T['what was added is taken out again, byte for byte'] = function()
  preview('Ullage wire claude-code')
  child.cmd('write')
  editor.wait_said(child, 'Claude Code: changed')
  child.cmd('Ullage wire claude-code')
  editor.wait_said(child, 'Claude Code: runs Ullage already.')
  preview('Ullage unwire')
  editor.line_with(child, '-  "hooks": {')
  child.cmd('write')
  editor.wait_said(child, 'settings.json is as it was before.')
  eq(settings(), SETTINGS)
  child.cmd('Ullage unwire claude-code')
  editor.wait_said(child, 'Claude Code: does not run Ullage.')
end

T['settings that have changed since the preview are left alone'] = function()
  preview('Ullage wire claude-code')
  vim.fn.writefile({ '{}' }, path, 'b')
  child.cmd('write')
  editor.wait_said(child, 'changed since the preview')
  eq(settings(), '{}')
  eq(child.fn.bufnr('ullage://wiring') > 0, true)
end

T['what else the agent gets is added by a word, stays without it, and is taken out by no before it'] = function()
  preview('Ullage wire claude-code fillnotes statusline')
  child.cmd('write')
  editor.wait_said(child, 'Claude Code: changed')
  has('%-%-fill%-notes', settings())
  has('"statusLine"', settings())
  child.cmd('Ullage wire claude-code')
  editor.wait_said(child, 'Claude Code: runs Ullage already.')
  preview('Ullage wire claude-code nofillnotes')
  child.cmd('write')
  editor.wait(child, "vim.fn.bufnr('ullage://wiring') == -1")
  eq(settings():find('--fill-notes', 1, true), nil)
  has('"statusLine"', settings())
end

T['settings of one agent that are broken are named, and the others have their change'] = function()
  local codex = vim.fn.tempname() .. '-codex'
  vim.fn.mkdir(codex, 'p')
  vim.fn.writefile({ '{' }, codex .. '/hooks.json')
  MiniTest.finally(function() vim.env.CODEX_HOME = nil end)
  vim.env.CODEX_HOME = codex
  child = editor.start()
  preview('Ullage wire')
  editor.line_with(child, '+  "hooks": {')
  editor.line_with(child, '# Codex: ' .. codex .. '/hooks.json')
  child.cmd('write')
  editor.wait_said(child, 'Claude Code: changed')
  has('hook claude%-code', settings())
  child.cmd('Ullage wire')
  editor.wait_said(child, 'Claude Code: runs Ullage already. Codex: ')
end

T['an agent that is not known is named, with those that are'] = function()
  child.cmd('Ullage wire nonesuch')
  editor.wait_said(child, 'nonesuch')
  has('claude%-code', child.lua_get('_G.said[1]'))
  child.cmd('Ullage wire claude-code more')
  editor.wait_said(child, 'takes one agent')
end

T['agents are completed'] = function()
  child.cmd('Ullage wire claude-code')
  editor.wait(child, "vim.api.nvim_buf_get_name(0):find('ullage://wiring', 1, true) ~= nil")
  eq(child.fn.getcompletion('Ullage unwire cl', 'cmdline'), { 'claude-code' })
  eq(child.fn.getcompletion('Ullage wire st', 'cmdline'), { 'statusline' })
  eq(child.fn.getcompletion('Ullage wire no', 'cmdline'), { 'nofillnotes', 'nostatusline' })
end

return T
