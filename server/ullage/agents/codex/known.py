"""The kinds of lines, events and items in a Codex session file that are not part of the conversation.

The names are those of Codex's own types (openai/codex, `codex-rs/protocol`). Names of later versions are missing, so
that the reader reports them.
"""

# Types of lines that keep Codex's own state.
OWN_LINES = frozenset(
    {"world_state", "inter_agent_communication_metadata", "rollout_reference", "turn_context", "security_risk_score"}
)
# Items that Codex keeps among the conversation's items and does not send to the model, or that only OpenAI can read.
OWN_ITEMS = frozenset(
    {"ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "compaction_trigger"}
)
# Events show on the screen what the items already contain, or what Codex does.
EVENTS = frozenset(
    (
        *("error", "warning", "stream_error", "background_event", "deprecation_notice", "shutdown_complete"),
        *("user_message", "agent_message", "agent_message_delta", "agent_message_content_delta"),
        *("agent_reasoning", "agent_reasoning_delta", "agent_reasoning_raw_content"),
        *("agent_reasoning_raw_content_delta", "agent_reasoning_section_break"),
        *("reasoning_content_delta", "reasoning_raw_content_delta", "raw_response_item"),
        *("session_configured", "thread_settings_applied", "thread_goal_updated", "thread_name_updated"),
        *("task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted"),
        *("item_started", "item_completed", "plan_update", "plan_delta", "turn_diff"),
        *("context_compacted", "undo_started", "undo_completed"),
        *("exec_command_begin", "exec_command_output_delta", "exec_command_end", "terminal_interaction"),
        *("patch_apply_begin", "patch_apply_updated", "patch_apply_end", "view_image_tool_call"),
        *("mcp_startup_update", "mcp_startup_complete", "mcp_tool_call_begin", "mcp_tool_call_end"),
        *("web_search_begin", "web_search_end", "image_generation_begin", "image_generation_end"),
        *("dynamic_tool_call_request", "dynamic_tool_call_response"),
        *("exec_approval_request", "apply_patch_approval_request", "request_permissions", "request_user_input"),
        *("elicitation_request", "guardian_assessment", "guardian_warning", "safety_buffering"),
        *("model_reroute", "model_verification", "turn_moderation_metadata"),
        *("entered_review_mode", "exited_review_mode", "hook_started", "hook_completed", "sub_agent_activity"),
        *("collab_agent_spawn_begin", "collab_agent_spawn_end", "collab_agent_interaction_begin"),
        *("collab_agent_interaction_end", "collab_waiting_begin", "collab_waiting_end", "collab_close_begin"),
        *("collab_close_end", "collab_resume_begin", "collab_resume_end"),
        *("realtime_conversation_started", "realtime_conversation_sdp", "realtime_conversation_realtime"),
        *("realtime_conversation_closed", "realtime_conversation_list_voices_response"),
        *("get_history_entry_response", "mcp_list_tools_response", "list_custom_prompts_response"),
        *("list_skills_response", "skills_update_available", "conversation_path"),
    )
)
