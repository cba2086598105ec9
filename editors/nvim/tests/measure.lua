-- Measures, with the real server, and prints one JSON object: each time from `append` to the new figure in the
-- statusline, and the median cost of an update of the context buffer at 100 and at 10,000 messages. Milliseconds.
-- nvim --clean --headless -u tests/init.lua -l tests/measure.lua
vim.o.columns, vim.o.lines = 110, 40
require('ullage').setup(vim.tbl_extend('force', vim.g.ullage, { notices = { level = 'off' } }))

local ROUNDS = 100
local PATIENCE = 60000

local function milliseconds(since) return (vim.uv.hrtime() - since) / 1e6 end

local function wait(condition) assert(vim.wait(PATIENCE, condition, 1), 'waited in vain') end

local function rounded(time) return math.floor(time * 1000 + 0.5) / 1000 end

local function median(list)
  table.sort(list)
  return rounded(list[math.ceil(#list / 2)])
end

local function drawn() return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str end

---Each message is large enough to change the figure that is shown.
local function append_to_statusline()
  local times = {}
  for round = 1, ROUNDS do
    local before, start = drawn(), vim.uv.hrtime()
    require('ullage').append({ { role = 'user', content = ('word '):rep(1200) } })
    wait(function() return drawn() ~= before end)
    times[round] = rounded(milliseconds(start))
    assert(require('ullage.session').figures.used >= round * 1200, 'a figure of an earlier message')
  end
  return times
end

local function entry(number)
  local message = { id = 'm' .. number, role = number % 2 == 0 and 'assistant' or 'user', timestamp = 0 }
  message.content = { { type = 'text', text = 'message ' .. number } }
  return { message = message, index = number, tokens = 5, archived = false, pinned = false, inserted = false }
end

---Returns the cost of one more message in a buffer that shows so many, including drawing.
local function update(messages)
  local items, rows = require('ullage.context.items'), require('ullage.context.rows')
  local view = require('ullage.context.view').new(vim.api.nvim_create_buf(false, true))
  require('ullage.context.draw').setup()
  vim.api.nvim_win_set_buf(0, view.buffer)
  local builder = items.builder()
  for number = 1, messages do
    builder:add(entry(number))
  end
  view:replace(rows.build(builder.items, {}, vim.o.columns))
  vim.cmd('normal! G')
  local times = {}
  for round = 1, ROUNDS do
    local start = vim.uv.hrtime()
    view:add(builder:add(entry(messages + round)))
    vim.cmd.redraw()
    times[round] = milliseconds(start)
  end
  return median(times)
end

local ready = false
require('ullage').new_session({ model = 'claude-sonnet-4-5' }, function(error)
  assert(not error, tostring(error))
  ready = true
end)
wait(function() return ready end)
local latency = append_to_statusline()
local small, large = update(100), update(10000)
io.stdout:write(vim.json.encode({
  append_to_statusline_ms = latency,
  update_ms = { ['100'] = small, ['10000'] = large },
  update_ratio = math.floor(large / small * 100 + 0.5) / 100,
}) .. '\n')
vim.cmd('qall!')
