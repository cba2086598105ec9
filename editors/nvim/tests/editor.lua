-- Starts a child Neovim with the plugin and the real server, and waits with a bound.
local M = {}

-- Milliseconds: longer than any step takes on a busy machine.
M.PATIENCE = 60000

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
M.ROOT = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(here)))
M.SAMPLE = M.ROOT .. '/server/ullage/cli/data/sample.jsonl'

---@type table? the child of the case that runs
local current

---@param options? { window?: integer, bare?: boolean, notify?: boolean, keep_store?: boolean } the model's
---window in tokens; without a statusline; false leaves Neovim's own notifications; the
---store is the one that ULLAGE_STORE names
function M.start(options)
  options = options or {}
  local child = MiniTest.new_child_neovim()
  vim.env.ULLAGE_BARE = options.bare and '1' or nil
  vim.env.ULLAGE_STORE = options.keep_store and vim.env.ULLAGE_STORE or vim.fn.tempname() .. '.db'
  vim.env.ULLAGE_WINDOW = options.window and tostring(options.window) or nil
  child.start({ '--clean', '-u', here .. '/init.lua' })
  child.o.lines, child.o.columns = 30, 110
  child.cmd('runtime plugin/ullage.lua')
  child.lua('_G.said, _G.asked = {}, {}')
  if options.notify ~= false then
    -- Keeps notifications, as a notification plugin would.
    child.lua('vim.notify = function(text) table.insert(_G.said, text) end')
  end
  current = child
  return child
end

---Returns a set of cases. The child that a case starts is stopped at the end of the case.
---@param pre_case? fun()
function M.set(pre_case)
  local function stop()
    if current then
      current.stop()
      current = nil
    end
  end
  return MiniTest.new_set({ hooks = { pre_case = pre_case, post_case = stop } })
end

---Returns a field of `ullage.session` in the child: `figures.used`.
---@param field string
function M.session(field) return current.lua_get(("require('ullage.session').%s"):format(field)) end

---Fails unless the text contains the Lua pattern.
function M.has(pattern, text)
  if not text:find(pattern) then error(('“%s” has no %s'):format(text, pattern), 2) end
end

---Waits until a Lua expression is true in the child.
function M.wait(child, expression)
  local met = child.lua(('return vim.wait(%d, function() return %s end, 10)'):format(M.PATIENCE, expression))
  if not met then
    error(('waited in vain for %s\nsaid: %s'):format(expression, vim.inspect(child.lua_get('_G.said'))), 2)
  end
end

---Waits until there is a notification that contains `text`.
function M.wait_said(child, text) M.wait(child, ('table.concat(_G.said, "\\n"):find(%q, 1, true) ~= nil'):format(text)) end

---Kills the server of the child.
function M.kill_server(child)
  child.lua([[
    local pid = vim.system({ 'pgrep', '-P', tostring(vim.fn.getpid()), '-f', 'ullage lsp' }, { text = true }):wait().stdout
    vim.uv.kill(tonumber(vim.trim(pid)), 'sigkill')
  ]])
end

---Answers the next question, as a picker plugin would.
function M.answer(child, number)
  child.lua(([[
    vim.ui.select = function(items, options, on_choice)
      local labels = vim.tbl_map(options.format_item or tostring, items)
      table.insert(_G.asked, { prompt = options.prompt, items = labels })
      on_choice(items[%d], %d)
    end
  ]]):format(number, number))
end

function M.status(child) return child.lua_get("require('ullage').status()") end

function M.lines(child) return child.api.nvim_buf_get_lines(0, 0, -1, false) end

---Returns the 1-based number of the first line that contains `text`.
function M.line_with(child, text)
  for number, line in ipairs(M.lines(child)) do
    if line:find(text, 1, true) then return number end
  end
  error(('no line has “%s”:\n%s'):format(text, table.concat(M.lines(child), '\n')), 2)
end

function M.import(child)
  child.cmd('Ullage import ' .. M.SAMPLE)
  M.wait(child, "require('ullage.session').figures ~= nil")
end

---Imports a conversation of about ten million tokens, whose summary takes a second or more.
function M.import_long(child)
  local messages = {}
  for turn = 1, 6000 do
    local words = {}
    for number = 1, 200 do
      words[number] = ('word%dx%d'):format(turn, number)
    end
    local text = table.concat(words, ' ')
    messages[2 * turn - 1] = { role = 'user', content = 'Question ' .. text }
    messages[2 * turn] = { role = 'assistant', content = 'Answer ' .. text }
  end
  local file = vim.fn.tempname() .. '.json'
  vim.fn.writefile({ vim.json.encode({ model = 'claude-sonnet-4-5', messages = messages }) }, file)
  child.cmd('Ullage import ' .. file)
  M.wait(child, "require('ullage.session').figures ~= nil")
end

function M.open_context(child)
  child.cmd('Ullage context')
  child.cmd('only')
  M.wait(child, 'vim.api.nvim_buf_line_count(0) > 6')
end

return M
