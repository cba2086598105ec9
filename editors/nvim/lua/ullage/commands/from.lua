---@type ullage.Command
return {
  summary = 'Compact the message under the cursor, or one that you choose, and everything after it',
  edits = true,
  run = function()
    require('ullage.context.pick').message('Compact a message and everything after it', function(entry)
      require('ullage.context').watch()
      require('ullage.session').request(
        'context/compact',
        { from = entry.message.id },
        require('ullage.notices').compacted
      )
    end)
  end,
}
