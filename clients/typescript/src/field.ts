/** The `vista_guard` field of an answer that came through the proxy or the guarded client. */

import type { Action, Claim, JudgeInfo, Label, Link, SourceKind } from "./report.js";

export interface JudgedClaim extends Required<Omit<Claim, "steps" | "in_code">> {
  /** null: the claim could not be judged. */
  label: Label | null;
  confidence: number | null;
  evidence: { source: SourceKind; title: string | null; quote: string; score: number }[];
}

export interface VistaGuardField {
  action: Action;
  /** Share of safe claims; null when nothing was judged. */
  score: number | null;
  risk: number | null;
  risk_calibrated: boolean;
  conversation_id: string | null;
  turn_index: number;
  evidence_missing: boolean;
  labels: Partial<Record<Label | "UNCHECKED", number>>;
  judge: Required<JudgeInfo>;
  policy: string;
  /** Kinds of content that passed unjudged by design. */
  unjudged?: string[];
  /** Only where the whole turn was delivered, as are `claims`. */
  reason?: string;
  claims?: JudgedClaim[];
  /** Links to hosts that no document has. */
  links?: Link[];
}
