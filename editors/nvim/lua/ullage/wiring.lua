-- Ullage in the settings of agents: a change of them is shown as a difference before it is made.
local client = require('ullage.client')
local notices = require('ullage.notices')
local words = require('ullage.words')

local M = {}

local function home(path) return vim.fn.fnamemodify(path, ':~') end

---Returns a change of agents' settings as the lines of a difference, empty if there is nothing to change. Notes of agents
---whose settings can't be changed are among them.
---@param result ullage.WiringResult
function M.lines(result)
  local list = {}
  for _, agent in ipairs(result.agents) do
    for _, file in ipairs(agent.files) do
      list[#list + 1] = '--- ' .. (file.before and home(file.path) or '/dev/null')
      list[#list + 1] = '+++ ' .. (file.after and home(file.path) or '/dev/null')
      vim.list_extend(list, vim.split(file.difference, '\n', { plain = true }))
    end
    for _, note in ipairs((#agent.files > 0 or agent.failed) and agent.notes or {}) do
      list[#list + 1] = ('# %s: %s'):format(agent.agent, note)
    end
  end
  return list
end

---Returns what a change that was made has changed, and what the user has to do now.
---@param result ullage.WiringResult
function M.done(result)
  local parts = {}
  for _, agent in ipairs(result.agents) do
    if #agent.files > 0 then
      local more = #agent.files > 1 and (' and %d more'):format(#agent.files - 1) or ''
      parts[#parts + 1] = ('%s: changed %s%s.'):format(agent.agent, home(agent.files[1].path), more)
      vim.list_extend(parts, agent.notes)
    end
  end
  return table.concat(parts, ' ')
end

---@param result ullage.WiringResult
---@param unchanged string what holds of the agents already
local function nothing(result, unchanged)
  local parts, same = {}, {}
  for _, agent in ipairs(result.agents) do
    local text = agent.failed and ('%s: %s'):format(agent.agent, table.concat(agent.notes, ' '))
    table.insert(text and parts or same, text or agent.agent)
  end
  if #same > 0 then table.insert(parts, 1, ('%s: %s'):format(table.concat(same, ', '), unchanged)) end
  notices.say(#parts == 0 and 'No agent that can run Ullage is on this machine.' or table.concat(parts, ' '))
end

---Shows what a method would change, and makes the change if the user accepts it.
---@param method 'agents/wire'|'agents/unwire'
---@param params table without the preview
---@param unchanged string what is told if there is nothing to change
function M.propose(method, params, unchanged)
  local dry = vim.tbl_extend('error', params, { dryRun = true })
  client.call(method, dry, function(result)
    local changes = vim.iter(result.agents):any(function(agent) return #agent.files > 0 end)
    if not changes then return nothing(result, unchanged) end
    local function accept(close)
      local shown = vim.tbl_extend('error', params, { previewId = result.previewId })
      client.call(method, shown, function(made)
        close()
        notices.say(M.done(made))
      end)
    end
    require('ullage.proposal').show({
      name = 'wiring',
      keys = 'makes this change',
      lines = M.lines(result),
      filetype = 'diff',
      accept = accept,
    })
  end)
end

---Returns the names in commands of the agents that a method would change, for completion.
---@param method 'agents/wire'|'agents/unwire'
function M.words(method)
  local result = client.ask(method, { dryRun = true })
  return words.pluck(result and result.agents or {}, 'word')
end

return M
