-- Compactions, previews and undo with the real server.
local editor = require('editor')
local eq, has, session = MiniTest.expect.equality, editor.has, editor.session

local child
local T = editor.set()

T['a full context compacts by itself, with progress'] = function()
  child = editor.start({ window = 32000 })
  child.lua([[
    _G.progress = {}
    vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)
      table.insert(_G.progress, event.data.params.value.kind)
    end })
  ]])
  editor.import(child)
  editor.wait_said(child, ' messages: 38K → ')
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
  has('◈ Compacting #1 · writing the summary… · x cancels\n    ## Checks', child.lua_get('_G.live[1]'))
  eq(child.lua_get('#_G.live > 1'), true)
  editor.wait(child, "vim.fn.search('Compacted #1', 'nw') > 0")
  local marker = editor.line_with(child, '◈ Compacted #1')
  has('manual', editor.lines(child)[marker])
  has('^    ## Checks', editor.lines(child)[marker + 1])
  eq(child.fn.foldclosed(editor.line_with(child, 'archived messages')) > 0, true)
end

T['the window that showed the summary while it was written shows its marker, wherever that is'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  -- Pinned messages stay, so that more rows come before the marker than are archived.
  child.lua([[
    _G.pinned = 0
    local loaded = require('ullage.context.view').by_buffer[vim.api.nvim_get_current_buf()]
    for _, row in ipairs(loaded.rows) do
      local message = row.kind == 'item' and row.item.kind == 'message' and row.item.entry.message
      if message and _G.pinned < 40 then
        _G.pinned = _G.pinned + 1
        require('ullage').request('context/pin', { messageId = message.id, pinned = true })
      end
    end
  ]])
  child.lua(
    "_G.lines = {}; require('ullage.events').on('compaction', function() table.insert(_G.lines, vim.fn.line('.')) end)"
  )
  editor.answer(child, 1)
  child.type_keys('cc')
  editor.wait_said(child, 'Compacted ')
  editor.wait(child, "vim.fn.search('◈ Compacted #1', 'nw') > 0")
  local marker = editor.line_with(child, '◈ Compacted #1')
  editor.wait(child, ("vim.fn.line('.') == %d"):format(marker))
  eq(child.fn.line('w0') <= marker and marker <= child.fn.line('w$'), true)
  -- It was written elsewhere.
  eq(child.lua_get('_G.lines[2]') ~= marker, true)
end

T['an accepted preview keeps the edited summary, and nothing of what is under it'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage preview')
  editor.wait(child, "vim.api.nvim_buf_get_name(0):find('ullage://preview', 1, true) ~= nil")
  has(':w compacts, 38K → ', child.wo.winbar)
  local archived = editor.line_with(child, 'Archived: ')
  eq(#editor.lines(child) > archived + 2, true)
  child.fn.cursor(1, 1)
  child.type_keys('O', 'Remember the harbour.', '<Esc>')
  child.cmd('write')
  editor.wait_said(child, 'Compacted ')
  editor.wait(child, "vim.fn.bufexists('ullage://preview') == 0")
  editor.open_context(child)
  editor.wait(child, "vim.fn.search('Compacted #1', 'nw') > 0")
  child.fn.cursor(editor.line_with(child, '◈ Compacted #1'), 1)
  child.type_keys('<CR>')
  editor.line_with(child, 'Remember the harbour.')
  eq(child.fn.search('>8', 'nw'), 0)
end

T['a preview without its scissors is not accepted, and q discards it'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage preview')
  editor.wait(child, "vim.api.nvim_buf_get_name(0):find('ullage://preview', 1, true) ~= nil")
  child.fn.cursor(editor.line_with(child, '>8'), 1)
  child.type_keys('dd')
  child.cmd('write')
  editor.wait_said(child, 'The line with the scissors (>8) is gone')
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

T['without an edit there is nothing to undo'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage undo')
  editor.wait_said(child, 'There is nothing to undo: no edit is in force.')
end

T['a compaction that is cancelled leaves the context as it was'] = function()
  child = editor.start({ window = 100000000 })
  editor.import_long(child)
  local before = session('figures.used')
  child.cmd('Ullage compact')
  editor.wait(child, "require('ullage.session').running ~= nil")
  has('^ctx compacting…', editor.status(child))
  child.cmd('Ullage undo')
  editor.wait(child, "require('ullage.session').running == nil")
  editor.wait_said(child, 'Cancelled. The context is as it was.')
  eq({ session('figures.used'), session('figures.compactions') }, { before, 0 })
  has('^ctx ~%d+%%', editor.status(child))
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
  editor.answer(child, 1)
  child.type_keys('ct')
  editor.wait_said(child, 'Compacted ')
  editor.wait(child, "vim.fn.search('◈ Compacted #1') > 0")
  eq({ archived('assistant  The plan:'), archived(last) }, { true, false })
end

T['an undo by another program shows in the rows by itself'] = function()
  child = editor.start({ window = 63000 })
  editor.import(child)
  editor.wait_said(child, 'Cleared ')
  editor.open_context(child)
  editor.wait(child, "vim.fn.search('cleared, kept in the archive', 'nw') > 0")
  -- Past the plugin's own command, as another client of the session would do it.
  child.lua("require('ullage.client').request('context/undo', { sessionId = require('ullage.session').active.id })")
  editor.wait(child, "vim.fn.search('cleared, kept in the archive', 'nw') == 0")
end

return T
