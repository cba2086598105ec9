-- The story with the real server: import, warning, compaction, preview, undo, switch, a crash, pins, search.
local editor = require('editor')
local eq = MiniTest.expect.equality

local child
local T = MiniTest.new_set({
  hooks = {
    post_case = function()
      child.stop()
    end,
  },
})

local function has(pattern, text)
  if not text:find(pattern) then
    error(('“%s” has no %s'):format(text, pattern), 2)
  end
end

local function session(field)
  return child.lua_get(("require('ullage.session').%s"):format(field))
end

---Appends a message of about so many tokens.
local function append(tokens)
  child.lua(([[
    _G.appended = nil
    require('ullage').append({ { role = 'user', content = ('word '):rep(%d) } }, nil, function(error, result)
      _G.appended = error or result
    end)
  ]]):format(tokens))
  editor.wait(child, '_G.appended ~= nil')
end

T['nothing is loaded before it is used'] = function()
  child = editor.start({ bare = true })
  eq(child.lua_get("vim.tbl_filter(function(name) return name:find('^ullage') end, vim.tbl_keys(package.loaded))"), {})
  eq(child.lua_get('#vim.lsp.get_clients()'), 0)
end

T['subcommands are completed'] = function()
  child = editor.start()
  eq(child.fn.getcompletion('Ullage re', 'cmdline'), { 'restart', 'restore' })
  eq(#child.fn.getcompletion('Ullage ', 'cmdline'), 20)
  eq(child.fn.getcompletion('Ullage export an', 'cmdline'), { 'anthropic' })
  eq(
    child.fn.getcompletion('Ullage import ' .. editor.ROOT .. '/protocol/met', 'cmdline'),
    { editor.ROOT .. '/protocol/methods.json' }
  )
end

T['an unknown subcommand is named'] = function()
  child = editor.start()
  child.cmd('Ullage compcat')
  has('Ullage compcat does not exist; there are', child.lua_get('_G.said[1]'))
end

T['without a session the statusline is empty and commands say how to begin'] = function()
  child = editor.start()
  child.lua("require('ullage').start()")
  editor.wait(child, "require('ullage.client').state == 'running'")
  eq(editor.status(child), '')
  child.cmd('Ullage compact')
  has(':Ullage import', child.lua_get('_G.said[1]'))
end

T['an import shows its percentage, warns, and offers choices'] = function()
  child = editor.start()
  editor.import(child)
  editor.wait_said(child, 'Imported 203 messages')
  eq(editor.status(child), 'ctx ~61% 38K/63K')
  has('ctx ~61%% 38K/63K', child.lua_get('vim.api.nvim_eval_statusline(vim.o.statusline, {}).str'))
  editor.wait_said(child, 'Context 81% full')
  eq(child.lua_get("require('ullage').usage().group"), 'UllageWarn')
  editor.answer(child, 3)
  child.cmd('Ullage choose')
  eq(child.lua_get('_G.asked[1].items'), { 'Compact now', 'Preview', 'Not for this session' })
  editor.wait_said(child, 'No more warnings')
end

T['the autocommand carries the figures'] = function()
  child = editor.start()
  child.lua([[
    vim.api.nvim_create_autocmd('User', { pattern = 'UllageUsage', callback = function(event) _G.event = event.data end })
  ]])
  editor.import(child)
  editor.wait(child, '_G.event ~= nil and _G.event.level == "warning"')
  eq(child.lua_get('_G.event.percent'), 61)
  eq(child.lua_get('_G.event.compact_at'), 42525)
end

T['a full context compacts by itself, with progress'] = function()
  child = editor.start({ window = 32000 })
  child.lua([[
    _G.progress = {}
    vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)
      table.insert(_G.progress, event.data.params.value.kind)
    end })
  ]])
  editor.import(child)
  editor.wait_said(child, 'Compacted 167 messages: 38K → ')
  has('^✓ 38K → ', editor.status(child))
  eq(child.lua_get('_G.progress[1]'), 'begin')
  eq(child.lua_get('_G.progress[2]'), 'report')
  eq(child.lua_get('_G.progress[#_G.progress]'), 'end')
end

T['the summary streams into its marker and stays there'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  child.lua([[
    _G.live = {}
    require('ullage.events').on('compaction', function(what)
      if what == 'chunk' then
        table.insert(_G.live, table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'))
      end
    end)
  ]])
  child.cmd('Ullage compact the rotation rule')
  editor.wait_said(child, 'Compacted ')
  has('◈ Compacting #1 · writing the summary… · x cancels\n    ## Task', child.lua_get('_G.live[1]'))
  eq(child.lua_get('#_G.live > 3'), true)
  editor.wait(child, "vim.fn.search('Compacted #1', 'nw') > 0")
  local marker = editor.line_with(child, '◈ Compacted #1')
  has('manual', editor.lines(child)[marker])
  eq(editor.lines(child)[marker + 1], '    ## Task')
  eq(child.fn.foldclosed(editor.line_with(child, 'archived messages')) > 0, true)
end

T['an accepted preview keeps the edited summary'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage preview')
  editor.wait(child, "vim.api.nvim_buf_get_name(0):find('ullage://preview', 1, true) ~= nil")
  has('38K → ', child.wo.winbar)
  editor.line_with(child, 'Stays · ')
  editor.line_with(child, 'Goes · ')
  child.type_keys('O', 'Remember the harbour.', '<Esc>')
  has('≈', child.wo.winbar)
  local signs = child.lua_get(
    [[vim.tbl_map(function(mark)
    return vim.trim(mark[4].sign_text)
  end, vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('ullage.preview.signs'), 0, -1, { details = true }))]]
  )
  local summary = editor.line_with(child, 'end of the summary') - editor.line_with(child, 'Summary: edit it below') - 1
  eq({ #vim.tbl_filter(function(sign)
    return sign == '+'
  end, signs), #signs > summary }, { summary, true })
  child.cmd('write')
  editor.wait_said(child, 'Compacted ')
  editor.wait(child, "vim.fn.bufexists('ullage://preview') == 0")
  editor.open_context(child)
  editor.wait(child, "vim.fn.search('Compacted #1', 'nw') > 0")
  child.fn.cursor(editor.line_with(child, '◈ Compacted #1'), 1)
  child.type_keys('<CR>')
  editor.line_with(child, 'Remember the harbour.')
end

T['only the summary of a preview can be typed in'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage preview')
  editor.wait(child, "vim.api.nvim_buf_get_name(0):find('ullage://preview', 1, true) ~= nil")
  child.type_keys('l')
  eq(child.bo.modifiable, true)
  child.type_keys('gg')
  eq(child.bo.modifiable, false)
  child.type_keys('G')
  eq(child.bo.modifiable, false)
  child.type_keys('q')
  eq(child.fn.bufexists('ullage://preview'), 0)
  eq(session('figures.compactions'), 0)
end

T['undo says what it brings back, then brings it back'] = function()
  child = editor.start()
  editor.import(child)
  local before = session('figures.used')
  child.cmd('Ullage compact')
  editor.wait_said(child, 'Compacted ')
  editor.open_context(child)
  editor.wait(child, "vim.fn.search('Compacted #1', 'nw') > 0")
  child.fn.cursor(editor.line_with(child, '◈ Compacted #1'), 1)
  editor.answer(child, 1)
  child.type_keys('u')
  editor.wait_said(child, 'Undone: ')
  has('%d+ messages, brings back %d+K tokens; the context will be at 61 %%', child.lua_get('_G.asked[1].prompt'))
  eq(session('figures.used'), before)
  editor.wait(child, "vim.fn.search('Compacted #1', 'nw') == 0")
end

T['a compaction that is cancelled leaves the context as it was'] = function()
  child = editor.start({ window = 100000000 })
  editor.import_long(child)
  local before = session('figures.used')
  child.cmd('Ullage compact')
  editor.wait(child, "require('ullage.session').running ~= nil")
  has('^ctx compacting…', editor.status(child))
  child.cmd('Ullage cancel')
  editor.wait(child, "require('ullage.session').running == nil")
  editor.wait_said(child, 'Cancelled. The context is as it was.')
  eq({ session('figures.used'), session('figures.compactions') }, { before, 0 })
  has('^ctx ~%d+%%', editor.status(child))
end

T['a checkpoint is restored'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage compact')
  editor.wait_said(child, 'Compacted ')
  editor.answer(child, 1)
  child.cmd('Ullage restore')
  editor.wait_said(child, 'Undone: ')
  eq(child.lua_get('_G.asked[1].items[1]'), 'before every edit')
  eq(session('figures.compactions'), 0)
end

T['appended messages join the end, whatever is open before it'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  local count = #editor.lines(child)
  child.type_keys('G')
  append(10)
  editor.wait(child, ('vim.api.nvim_buf_line_count(0) == %d'):format(count + 1))
  has('^you        word word', editor.lines(child)[count + 1])
  eq(child.fn.line('.'), count + 1)
end

T['a message is pinned and unpinned where the cursor is'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  child.fn.cursor(editor.line_with(child, 'assistant  The plan:'), 1)
  child.type_keys('p')
  editor.wait_said(child, 'Pinned')
  child.cmd('redraw')
  editor.wait(child, "require('ullage.context').entry_under_cursor().pinned")
  child.type_keys('p')
  editor.wait_said(child, 'Unpinned')
end

T['a compaction reaches up to the message where the cursor is'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  local last = editor.lines(child)[child.fn.line('$')]
  local function archived(text)
    child.fn.cursor(editor.line_with(child, text), 1)
    return child.lua_get("require('ullage.context').entry_under_cursor().archived")
  end
  eq(archived('assistant  The plan:'), false)
  child.type_keys('t')
  editor.wait_said(child, 'Compacted ')
  editor.wait(child, "vim.fn.search('◈ Compacted #1') > 0")
  eq({ archived('assistant  The plan:'), archived(last) }, { true, false })
end

T['a search finds archived messages and goes to them'] = function()
  child = editor.start({ window = 32000 })
  editor.import(child)
  editor.wait_said(child, 'Compacted ')
  child.cmd('Ullage search nested transaction')
  editor.wait(child, '#vim.fn.getqflist() > 0')
  eq(child.fn.getqflist({ title = 1 }).title, 'Ullage search: nested transaction')
  has('transaction', child.lua_get('vim.fn.getqflist()[1].text'))
  child.cmd('cfirst')
  eq(child.bo.filetype, 'ullage')
end

T['sessions are started, forked and switched'] = function()
  child = editor.start()
  editor.import(child)
  local imported = session('active.id')
  child.cmd('Ullage fork Another way')
  editor.wait_said(child, 'Forked: Another way')
  child.cmd('Ullage new gpt-4o')
  editor.wait_said(child, 'A new session')
  eq(editor.status(child), 'ctx ~0% 0/128K')
  eq(vim.tbl_contains(child.fn.getcompletion('Ullage switch ', 'cmdline'), imported), true)
  child.cmd('Ullage switch ' .. imported)
  editor.wait(child, ("require('ullage.session').active.id == %q"):format(imported))
  has('^ctx ~61%%', editor.status(child))
end

T['a session is exported to a file that imports again'] = function()
  child = editor.start()
  editor.import(child)
  local path = vim.fn.tempname() .. '.jsonl'
  child.cmd('Ullage export ' .. path)
  editor.wait_said(child, 'Exported to ')
  child.cmd('Ullage import ' .. path)
  editor.wait(child, '#vim.tbl_filter(function(text) return text:find("Imported 203") end, _G.said) == 2')
end

T['a killed server comes back with nothing lost'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage compact')
  editor.wait_said(child, 'Compacted ')
  local before = session('figures')
  child.lua([[
    local id = require('ullage.client').get().id
    local pid = vim.system({ 'pgrep', '-P', tostring(vim.fn.getpid()), '-f', 'ullage lsp' }, { text = true }):wait().stdout
    _G.first = id
    vim.uv.kill(tonumber(vim.trim(pid)), 'sigkill')
  ]])
  editor.wait(
    child,
    "require('ullage.client').get() and require('ullage.client').get().id ~= _G.first and require('ullage.client').state == 'running'"
  )
  editor.wait(child, "require('ullage.session').figures.compactions == 1")
  eq(session('figures.used'), before.used)
  editor.answer(child, 2)
  child.cmd('Ullage undo')
  editor.wait(child, '#_G.asked == 1')
  eq(child.lua_get('_G.asked[1].items'), { 'Undo', 'Leave it' })
  eq(session('figures.used'), before.used)
  editor.open_context(child)
  editor.wait(child, "vim.fn.search('Compacted #1', 'nw') > 0")
end

T['a server that keeps crashing is not restarted, and the reason is shown'] = function()
  child = editor.start({ bare = true })
  child.lua([[
    require('ullage').setup({ cmd = { 'false' }, recovery = { attempts = 1 } })
    require('ullage').start()
  ]])
  editor.wait(child, "require('ullage.client').state == 'stopped'")
  eq(editor.status(child), 'Ullage: stopped')
  has('exit status 1', child.lua_get("require('ullage.client').reason"))
end

T['a missing server is reported with the remedy'] = function()
  child = editor.start({ bare = true })
  child.lua([[require('ullage').setup({ cmd = { '/no/such/ullage' } })]])
  child.cmd('Ullage compact')
  editor.wait_said(child, '/no/such/ullage (option cmd) cannot be run. Install it with')
  eq(editor.status(child), 'Ullage: stopped')
end

T['a restart keeps the session'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage restart')
  editor.wait(child, "require('ullage.client').state ~= 'running'")
  editor.wait(child, "require('ullage.client').state == 'running'")
  has('^ctx ~61%%', editor.status(child))
end

T["the folder's last session is opened again"] = function()
  child = editor.start()
  editor.import(child)
  child.lua("require('ullage.session').active = nil; require('ullage.session').figures = nil")
  child.cmd('Ullage restart')
  editor.wait(child, "require('ullage.session').figures ~= nil")
  has('^ctx ~61%%', editor.status(child))
end

T['health lists the four steps'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('checkhealth ullage')
  for _, step in ipairs({
    '1. Server found',
    '2. Import a conversation',
    '3. See the statusline',
    '4. Compact it, undo it',
  }) do
    editor.line_with(child, step)
  end
  editor.line_with(child, 'running, version')
  editor.line_with(child, 'it shows: ctx ~61%')
  eq(
    vim.tbl_filter(function(line)
      return line:find('ERROR')
    end, editor.lines(child)),
    {}
  )
end

T['health names a wrong option'] = function()
  child = editor.start()
  child.lua("vim.g.ullage = { colour = 'red' }")
  child.cmd('checkhealth ullage')
  editor.line_with(child, 'colour is not an option; there are')
end

T['vim.lsp.enable starts the same client'] = function()
  child = editor.start()
  if child.fn.has('nvim-0.11') == 0 then
    MiniTest.skip('vim.lsp.enable came with Neovim 0.11')
  end
  child.cmd('edit ' .. editor.ROOT .. '/README.md')
  child.lua("vim.lsp.enable('ullage')")
  editor.wait(child, "require('ullage.client').state == 'running'")
  editor.import(child)
  eq(child.lua_get('#vim.lsp.get_clients()'), 1)
end

T['lualine shows the figure in its colour'] = function()
  child = editor.start()
  child.lua("require('lualine').setup({ sections = { lualine_x = { 'ullage' } } })")
  editor.import(child)
  child.cmd('redrawstatus!')
  editor.wait(child, "vim.api.nvim_eval_statusline(vim.o.statusline, {}).str:find('ctx ~61% 38K/63K', 1, true) ~= nil")
end

return T
