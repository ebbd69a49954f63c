BEGIN TRANSACTION;
CREATE TABLE vista_guard_annotation_claims (
	annotation INTEGER NOT NULL, 
	n INTEGER NOT NULL, 
	report INTEGER NOT NULL, 
	source_claim_id TEXT, 
	op VARCHAR(8) NOT NULL, 
	text TEXT NOT NULL, 
	span_start INTEGER, 
	span_end INTEGER, 
	label VARCHAR(16), 
	PRIMARY KEY (annotation, n)
);
INSERT INTO "vista_guard_annotation_claims" VALUES(1,0,3,'t1.c1','confirm','The pier opened in 1911.',NULL,NULL,'VERIFIED');
CREATE TABLE vista_guard_annotation_tasks (
	id INTEGER NOT NULL, 
	report INTEGER NOT NULL, 
	tenant TEXT NOT NULL, 
	batch VARCHAR(200) NOT NULL, 
	wanted INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	created_by TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "vista_guard_annotation_tasks" VALUES(1,3,'','pilot',1,'2026-11-22 18:52:19.945882','ada');
CREATE TABLE vista_guard_annotations (
	id INTEGER NOT NULL, 
	task INTEGER NOT NULL, 
	report INTEGER NOT NULL, 
	annotator VARCHAR(200) NOT NULL, 
	version INTEGER NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	condition VARCHAR(12) NOT NULL, 
	seconds FLOAT NOT NULL, 
	notes TEXT NOT NULL, 
	started_at DATETIME NOT NULL, 
	saved_at DATETIME NOT NULL, 
	submitted_at DATETIME, 
	PRIMARY KEY (id)
);
INSERT INTO "vista_guard_annotations" VALUES(1,1,3,'ben',2,'submitted','blind',3.0,'','2026-11-22 18:52:19.959620','2026-11-22 18:52:19.962714','2026-11-22 18:52:19.962714');
CREATE TABLE vista_guard_backfill (
	id INTEGER NOT NULL, 
	upto INTEGER NOT NULL, 
	highest INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "vista_guard_backfill" VALUES(1,0,5);
CREATE TABLE vista_guard_claims_hour (
	hour DATETIME NOT NULL, 
	tenant TEXT NOT NULL, 
	judge TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	gate TEXT NOT NULL, 
	action TEXT NOT NULL, 
	label TEXT NOT NULL, 
	claims BIGINT NOT NULL, 
	confidence_sum FLOAT NOT NULL, 
	PRIMARY KEY (hour, tenant, judge, policy, gate, action, label)
);
INSERT INTO "vista_guard_claims_hour" VALUES('2026-05-01 12:00:00.000000','acme','scripted 1','balanced','','FLAG','UNCHECKED',2,0.0);
INSERT INTO "vista_guard_claims_hour" VALUES('2026-05-01 12:00:00.000000','acme','scripted 1','balanced','','FLAG','VERIFIED',2,6.00000000000000088817e-01);
INSERT INTO "vista_guard_claims_hour" VALUES('2026-05-01 13:00:00.000000','','scripted 1','balanced','','FLAG','UNCHECKED',3,0.0);
INSERT INTO "vista_guard_claims_hour" VALUES('2026-05-01 13:00:00.000000','','scripted 1','balanced','','FLAG','VERIFIED',3,9.00000000000000133226e-01);
CREATE TABLE vista_guard_consensus (
	task INTEGER NOT NULL, 
	report INTEGER NOT NULL, 
	claims TEXT NOT NULL, 
	method VARCHAR(12) NOT NULL, 
	settled_by TEXT NOT NULL, 
	settled_at DATETIME NOT NULL, 
	PRIMARY KEY (task)
);
INSERT INTO "vista_guard_consensus" VALUES(1,3,'[{"text":"The pier opened in 1911.","label":"VERIFIED","op":"confirm","source_claim_id":null,"span":null}]','unanimous','ben','2026-11-22 18:52:19.978327');
CREATE TABLE vista_guard_conversations (
	conversation_key VARCHAR(32) NOT NULL, 
	conversation_id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	first_at DATETIME NOT NULL, 
	last_at DATETIME NOT NULL, 
	turns INTEGER NOT NULL, 
	flagged INTEGER NOT NULL, 
	repaired INTEGER NOT NULL, 
	blocked INTEGER NOT NULL, 
	contradicted INTEGER NOT NULL, 
	unchecked INTEGER NOT NULL, 
	PRIMARY KEY (conversation_key)
);
INSERT INTO "vista_guard_conversations" VALUES('883a14b33f1d6f1957daef35ca8fad68','acme/a','acme','2026-05-01 12:00:00.123456','2026-05-01 12:01:00.123456',2,2,0,0,0,2);
INSERT INTO "vista_guard_conversations" VALUES('3e23e8160039594a33894f6564e1b134','b','','2026-05-01 13:10:00.123456','2026-05-01 13:10:00.123456',1,1,0,0,0,1);
CREATE TABLE vista_guard_failures (
	id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	part VARCHAR(16) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	tenant TEXT NOT NULL, 
	conversation_key VARCHAR(32), 
	conversation_id TEXT, 
	report INTEGER, 
	PRIMARY KEY (id)
);
CREATE TABLE vista_guard_failures_hour (
	hour DATETIME NOT NULL, 
	tenant TEXT NOT NULL, 
	part TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	failures BIGINT NOT NULL, 
	PRIMARY KEY (hour, tenant, part, kind)
);
CREATE TABLE vista_guard_findings (
	report INTEGER NOT NULL, 
	n INTEGER NOT NULL, 
	claim_id TEXT NOT NULL, 
	claim_key VARCHAR(32) NOT NULL, 
	label VARCHAR(16) NOT NULL, 
	confidence FLOAT, 
	span_start INTEGER, 
	span_end INTEGER, 
	source VARCHAR(16), 
	source_id TEXT, 
	created_at DATETIME NOT NULL, 
	claim TEXT NOT NULL, 
	PRIMARY KEY (report, n)
);
INSERT INTO "vista_guard_findings" VALUES(1,0,'t1.c1','984dc1aa102457a698ffae8c5a5ad44e','VERIFIED',3.00000000000000044408e-01,0,24,'document','d','2026-05-01 12:00:00.123456','The pier opened in 1911.');
INSERT INTO "vista_guard_findings" VALUES(1,1,'t1.c2','6c3c32c56e7714a0028581718a12755a','UNCHECKED',NULL,NULL,NULL,NULL,NULL,'2026-05-01 12:00:00.123456','It is long.');
INSERT INTO "vista_guard_findings" VALUES(2,0,'t2.c1','984dc1aa102457a698ffae8c5a5ad44e','VERIFIED',3.00000000000000044408e-01,0,24,'document','d','2026-05-01 12:01:00.123456','The pier opened in 1911.');
INSERT INTO "vista_guard_findings" VALUES(2,1,'t2.c2','6c3c32c56e7714a0028581718a12755a','UNCHECKED',NULL,NULL,NULL,NULL,NULL,'2026-05-01 12:01:00.123456','It is long.');
INSERT INTO "vista_guard_findings" VALUES(3,0,'t1.c1','984dc1aa102457a698ffae8c5a5ad44e','VERIFIED',3.00000000000000044408e-01,0,24,'document','d','2026-05-01 13:10:00.123456','The pier opened in 1911.');
INSERT INTO "vista_guard_findings" VALUES(3,1,'t1.c2','6c3c32c56e7714a0028581718a12755a','UNCHECKED',NULL,NULL,NULL,NULL,NULL,'2026-05-01 13:10:00.123456','It is long.');
INSERT INTO "vista_guard_findings" VALUES(4,0,'t1.c1','984dc1aa102457a698ffae8c5a5ad44e','VERIFIED',3.00000000000000044408e-01,0,24,'document','d','2026-05-01 13:20:00.123456','The pier opened in 1911.');
INSERT INTO "vista_guard_findings" VALUES(4,1,'t1.c2','6c3c32c56e7714a0028581718a12755a','UNCHECKED',NULL,NULL,NULL,NULL,NULL,'2026-05-01 13:20:00.123456','It is long.');
CREATE TABLE vista_guard_reports (
	id INTEGER NOT NULL, 
	conversation_key VARCHAR(32), 
	conversation_id TEXT, 
	turn_index INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	score FLOAT, 
	schema_version VARCHAR(16) NOT NULL, 
	report TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "vista_guard_reports" VALUES(1,'883a14b33f1d6f1957daef35ca8fad68','acme/a',1,'2026-05-01 12:00:00.123456','FLAG',1.0,'1.2','{"schema_version":"1.2","id":"8cb575d2b2d84c02b01ca9053b2735f7","conversation_id":"acme/a","turn_index":1,"response":"The pier opened in 1911. It is long. 🦊\u0000","outcomes":[{"kind":"finding","claim":{"id":"t1.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}},"label":"VERIFIED","confidence":0.30000000000000004,"evidence":[{"source":"document","source_id":"d","quote":"in 1911","title":null,"span":{"start":4,"end":11},"score":0.3333333333333333}],"reason":"stated","judged_by":null},{"kind":"unchecked","claim":{"id":"t1.c2","text":"It is long.","span":null},"error":"no answer","what":"claim","raw":null}],"decision":{"action":"FLAG","reason":"one unchecked","claim_ids":["t1.c2"]},"score":1.0,"risk":null,"risk_calibrated":false,"evidence_missing":false,"attempts":[{"outcomes":[{"kind":"finding","claim":{"id":"t1.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}},"label":"VERIFIED","confidence":0.30000000000000004,"evidence":[{"source":"document","source_id":"d","quote":"in 1911","title":null,"span":{"start":4,"end":11},"score":0.3333333333333333}],"reason":"stated","judged_by":null}],"decision":{"action":"REPAIR","reason":"r","claim_ids":[]},"repair":"redact"}],"remembered":[{"id":"t1.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}}],"judge":{"name":"scripted","version":"1"},"policy":"balanced","rules":null,"gate":null,"tenant":"acme","turn_key":null,"draft_spans":[],"trace_id":null,"span_id":null,"timings":{"agent":0.0,"gather":0.0,"decompose":0.0,"verify":1.23456789,"categorize":0.0,"decide":0.0,"repair":0.0,"remember":0.0,"total":9.87654321},"usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cached_tokens":0,"cost":0.0,"unpriced_calls":0},"warnings":[],"created_at":"2026-05-01T12:00:00.123456Z"}');
INSERT INTO "vista_guard_reports" VALUES(2,'883a14b33f1d6f1957daef35ca8fad68','acme/a',2,'2026-05-01 12:01:00.123456','FLAG',1.0,'1.2','{"schema_version":"1.2","id":"92f11f123e24448bbb716bc09e2a0e96","conversation_id":"acme/a","turn_index":2,"response":"The pier opened in 1911. It is long. 🦊\u0000","outcomes":[{"kind":"finding","claim":{"id":"t2.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}},"label":"VERIFIED","confidence":0.30000000000000004,"evidence":[{"source":"document","source_id":"d","quote":"in 1911","title":null,"span":{"start":4,"end":11},"score":0.3333333333333333}],"reason":"stated","judged_by":null},{"kind":"unchecked","claim":{"id":"t2.c2","text":"It is long.","span":null},"error":"no answer","what":"claim","raw":null}],"decision":{"action":"FLAG","reason":"one unchecked","claim_ids":["t2.c2"]},"score":1.0,"risk":null,"risk_calibrated":false,"evidence_missing":false,"attempts":[{"outcomes":[{"kind":"finding","claim":{"id":"t2.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}},"label":"VERIFIED","confidence":0.30000000000000004,"evidence":[{"source":"document","source_id":"d","quote":"in 1911","title":null,"span":{"start":4,"end":11},"score":0.3333333333333333}],"reason":"stated","judged_by":null}],"decision":{"action":"REPAIR","reason":"r","claim_ids":[]},"repair":"redact"}],"remembered":[{"id":"t2.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}}],"judge":{"name":"scripted","version":"1"},"policy":"balanced","rules":null,"gate":null,"tenant":"acme","turn_key":null,"draft_spans":[],"trace_id":null,"span_id":null,"timings":{"agent":0.0,"gather":0.0,"decompose":0.0,"verify":1.23456789,"categorize":0.0,"decide":0.0,"repair":0.0,"remember":0.0,"total":9.87654321},"usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cached_tokens":0,"cost":0.0,"unpriced_calls":0},"warnings":[],"created_at":"2026-05-01T12:01:00.123456Z"}');
INSERT INTO "vista_guard_reports" VALUES(3,'3e23e8160039594a33894f6564e1b134','b',1,'2026-05-01 13:10:00.123456','FLAG',1.0,'1.2','{"schema_version":"1.2","id":"d223e29fe97d4b78bc462560f0b87c96","conversation_id":"b","turn_index":1,"response":"The pier opened in 1911. It is long. 🦊\u0000","outcomes":[{"kind":"finding","claim":{"id":"t1.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}},"label":"VERIFIED","confidence":0.30000000000000004,"evidence":[{"source":"document","source_id":"d","quote":"in 1911","title":null,"span":{"start":4,"end":11},"score":0.3333333333333333}],"reason":"stated","judged_by":null},{"kind":"unchecked","claim":{"id":"t1.c2","text":"It is long.","span":null},"error":"no answer","what":"claim","raw":null}],"decision":{"action":"FLAG","reason":"one unchecked","claim_ids":["t1.c2"]},"score":1.0,"risk":null,"risk_calibrated":false,"evidence_missing":false,"attempts":[{"outcomes":[{"kind":"finding","claim":{"id":"t1.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}},"label":"VERIFIED","confidence":0.30000000000000004,"evidence":[{"source":"document","source_id":"d","quote":"in 1911","title":null,"span":{"start":4,"end":11},"score":0.3333333333333333}],"reason":"stated","judged_by":null}],"decision":{"action":"REPAIR","reason":"r","claim_ids":[]},"repair":"redact"}],"remembered":[{"id":"t1.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}}],"judge":{"name":"scripted","version":"1"},"policy":"balanced","rules":null,"gate":null,"tenant":null,"turn_key":null,"draft_spans":[],"trace_id":null,"span_id":null,"timings":{"agent":0.0,"gather":0.0,"decompose":0.0,"verify":1.23456789,"categorize":0.0,"decide":0.0,"repair":0.0,"remember":0.0,"total":9.87654321},"usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cached_tokens":0,"cost":0.0,"unpriced_calls":0},"warnings":[],"created_at":"2026-05-01T13:10:00.123456Z"}');
INSERT INTO "vista_guard_reports" VALUES(4,NULL,NULL,1,'2026-05-01 13:20:00.123456','FLAG',1.0,'1.2','{"schema_version":"1.2","id":"ee6fe21f4c6e4ad4b99e5de7c3a64db8","conversation_id":null,"turn_index":1,"response":"The pier opened in 1911. It is long. 🦊\u0000","outcomes":[{"kind":"finding","claim":{"id":"t1.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}},"label":"VERIFIED","confidence":0.30000000000000004,"evidence":[{"source":"document","source_id":"d","quote":"in 1911","title":null,"span":{"start":4,"end":11},"score":0.3333333333333333}],"reason":"stated","judged_by":null},{"kind":"unchecked","claim":{"id":"t1.c2","text":"It is long.","span":null},"error":"no answer","what":"claim","raw":null}],"decision":{"action":"FLAG","reason":"one unchecked","claim_ids":["t1.c2"]},"score":1.0,"risk":null,"risk_calibrated":false,"evidence_missing":false,"attempts":[{"outcomes":[{"kind":"finding","claim":{"id":"t1.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}},"label":"VERIFIED","confidence":0.30000000000000004,"evidence":[{"source":"document","source_id":"d","quote":"in 1911","title":null,"span":{"start":4,"end":11},"score":0.3333333333333333}],"reason":"stated","judged_by":null}],"decision":{"action":"REPAIR","reason":"r","claim_ids":[]},"repair":"redact"}],"remembered":[{"id":"t1.c1","text":"The pier opened in 1911.","span":{"start":0,"end":24}}],"judge":{"name":"scripted","version":"1"},"policy":"balanced","rules":null,"gate":null,"tenant":null,"turn_key":null,"draft_spans":[],"trace_id":null,"span_id":null,"timings":{"agent":0.0,"gather":0.0,"decompose":0.0,"verify":1.23456789,"categorize":0.0,"decide":0.0,"repair":0.0,"remember":0.0,"total":9.87654321},"usage":{"calls":0,"input_tokens":0,"output_tokens":0,"cached_tokens":0,"cost":0.0,"unpriced_calls":0},"warnings":[],"created_at":"2026-05-01T13:20:00.123456Z"}');
CREATE TABLE vista_guard_review_events (
	id INTEGER NOT NULL, 
	report INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	who TEXT NOT NULL, 
	what VARCHAR(16) NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "vista_guard_review_events" VALUES(1,1,'2026-05-01 12:00:00.123456','vista-guard','queued','low_confidence');
INSERT INTO "vista_guard_review_events" VALUES(2,2,'2026-05-01 12:01:00.123456','vista-guard','queued','low_confidence');
INSERT INTO "vista_guard_review_events" VALUES(3,3,'2026-05-01 13:10:00.123456','vista-guard','queued','low_confidence');
INSERT INTO "vista_guard_review_events" VALUES(4,4,'2026-05-01 13:20:00.123456','vista-guard','queued','low_confidence');
INSERT INTO "vista_guard_review_events" VALUES(5,1,'2026-11-22 18:52:19.916533','ada','complaint','It opened in 1912.');
INSERT INTO "vista_guard_review_events" VALUES(6,1,'2026-11-22 18:52:19.941016','ben','overturned','The document says 1912.');
CREATE TABLE vista_guard_reviews (
	report INTEGER NOT NULL, 
	tenant TEXT NOT NULL, 
	reason VARCHAR(16) NOT NULL, 
	state VARCHAR(8) NOT NULL, 
	queued_at DATETIME NOT NULL, 
	assignee TEXT, 
	reserved_until DATETIME, 
	verdict VARCHAR(12), 
	verdict_reason TEXT, 
	decided_by TEXT, 
	decided_at DATETIME, urgency INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (report)
);
INSERT INTO "vista_guard_reviews" VALUES(1,'acme','complaint','decided','2026-11-22 18:52:19.915291',NULL,NULL,'overturned','The document says 1912.','ben','2026-11-22 18:52:19.940473',1000001);
INSERT INTO "vista_guard_reviews" VALUES(2,'acme','low_confidence','open','2026-05-01 12:01:00.123456',NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "vista_guard_reviews" VALUES(3,'','low_confidence','open','2026-05-01 13:10:00.123456',NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "vista_guard_reviews" VALUES(4,'','low_confidence','open','2026-05-01 13:20:00.123456',NULL,NULL,NULL,NULL,NULL,NULL,0);
CREATE TABLE vista_guard_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT vista_guard_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "vista_guard_schema" VALUES('0007');
CREATE TABLE vista_guard_turn_texts (
	report INTEGER NOT NULL, 
	texts TEXT NOT NULL, 
	expires_at DATETIME, 
	PRIMARY KEY (report)
);
INSERT INTO "vista_guard_turn_texts" VALUES(1,'{"user_text":"How long?","draft":null,"documents":[{"id":"d","text":"The pier opened in 1911.","title":null,"url":null,"metadata":{}}],"evidence":[]}','2126-04-07 12:00:00.123456');
INSERT INTO "vista_guard_turn_texts" VALUES(2,'{"user_text":"How long?","draft":null,"documents":[{"id":"d","text":"The pier opened in 1911.","title":null,"url":null,"metadata":{}}],"evidence":[]}','2126-04-07 12:01:00.123456');
INSERT INTO "vista_guard_turn_texts" VALUES(3,'{"user_text":"How long?","draft":null,"documents":[{"id":"d","text":"The pier opened in 1911.","title":null,"url":null,"metadata":{}}],"evidence":[]}','2126-04-07 13:10:00.123456');
INSERT INTO "vista_guard_turn_texts" VALUES(4,'{"user_text":"How long?","draft":null,"documents":[{"id":"d","text":"The pier opened in 1911.","title":null,"url":null,"metadata":{}}],"evidence":[]}','2126-04-07 13:20:00.123456');
CREATE TABLE vista_guard_turns (
	id INTEGER NOT NULL, 
	report_id VARCHAR(64) NOT NULL, 
	conversation_key VARCHAR(32), 
	conversation_id TEXT, 
	turn_index INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	tenant TEXT NOT NULL, 
	judge TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	rules VARCHAR(16) NOT NULL, 
	gate VARCHAR(16) NOT NULL, 
	trace_id VARCHAR(32), 
	span_id VARCHAR(16), 
	turn_key VARCHAR(16), 
	action VARCHAR(16) NOT NULL, 
	first_action VARCHAR(16) NOT NULL, 
	score FLOAT, 
	risk FLOAT, 
	lowest_confidence FLOAT, 
	duration_ms FLOAT NOT NULL, 
	evidence_missing BOOLEAN NOT NULL, 
	verified INTEGER NOT NULL, 
	out_of_scope INTEGER NOT NULL, 
	contradicted INTEGER NOT NULL, 
	lacking_evidence INTEGER NOT NULL, 
	abstention INTEGER NOT NULL, 
	unchecked INTEGER NOT NULL, question TEXT, cost FLOAT, 
	PRIMARY KEY (id)
);
INSERT INTO "vista_guard_turns" VALUES(1,'8cb575d2b2d84c02b01ca9053b2735f7','883a14b33f1d6f1957daef35ca8fad68','acme/a',1,'2026-05-01 12:00:00.123456','acme','scripted 1','balanced','','',NULL,NULL,NULL,'FLAG','REPAIR',1.0,NULL,3.00000000000000044408e-01,9.87654321,0,1,0,0,0,0,1,'How long?',NULL);
INSERT INTO "vista_guard_turns" VALUES(2,'92f11f123e24448bbb716bc09e2a0e96','883a14b33f1d6f1957daef35ca8fad68','acme/a',2,'2026-05-01 12:01:00.123456','acme','scripted 1','balanced','','',NULL,NULL,NULL,'FLAG','REPAIR',1.0,NULL,3.00000000000000044408e-01,9.87654321,0,1,0,0,0,0,1,'How long?',NULL);
INSERT INTO "vista_guard_turns" VALUES(3,'d223e29fe97d4b78bc462560f0b87c96','3e23e8160039594a33894f6564e1b134','b',1,'2026-05-01 13:10:00.123456','','scripted 1','balanced','','',NULL,NULL,NULL,'FLAG','REPAIR',1.0,NULL,3.00000000000000044408e-01,9.87654321,0,1,0,0,0,0,1,'How long?',NULL);
INSERT INTO "vista_guard_turns" VALUES(4,'ee6fe21f4c6e4ad4b99e5de7c3a64db8',NULL,NULL,1,'2026-05-01 13:20:00.123456','','scripted 1','balanced','','',NULL,NULL,NULL,'FLAG','REPAIR',1.0,NULL,3.00000000000000044408e-01,9.87654321,0,1,0,0,0,0,1,'How long?',NULL);
CREATE TABLE vista_guard_turns_hour (
	hour DATETIME NOT NULL, 
	tenant TEXT NOT NULL, 
	judge TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	rules TEXT NOT NULL, 
	gate TEXT NOT NULL, 
	action TEXT NOT NULL, 
	turns BIGINT NOT NULL, 
	evidence_missing BIGINT NOT NULL, 
	scored BIGINT NOT NULL, 
	input_tokens BIGINT NOT NULL, 
	output_tokens BIGINT NOT NULL, 
	unpriced_calls BIGINT NOT NULL, 
	score_sum FLOAT NOT NULL, 
	milliseconds FLOAT NOT NULL, 
	cost FLOAT NOT NULL, 
	latency_0 BIGINT NOT NULL, 
	latency_1 BIGINT NOT NULL, 
	latency_2 BIGINT NOT NULL, 
	latency_3 BIGINT NOT NULL, 
	latency_4 BIGINT NOT NULL, 
	latency_5 BIGINT NOT NULL, 
	latency_6 BIGINT NOT NULL, 
	latency_7 BIGINT NOT NULL, 
	latency_8 BIGINT NOT NULL, 
	latency_9 BIGINT NOT NULL, 
	latency_10 BIGINT NOT NULL, 
	latency_11 BIGINT NOT NULL, 
	latency_12 BIGINT NOT NULL, 
	PRIMARY KEY (hour, tenant, judge, policy, rules, gate, action)
);
INSERT INTO "vista_guard_turns_hour" VALUES('2026-05-01 12:00:00.000000','acme','scripted 1','balanced','','','FLAG',2,0,2,0,0,0,2.0,19.75308642,0.0,0,2,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "vista_guard_turns_hour" VALUES('2026-05-01 13:00:00.000000','','scripted 1','balanced','','','FLAG',3,0,3,0,0,0,3.0,2.96296296299999966095e+01,0.0,0,3,0,0,0,0,0,0,0,0,0,0,0);
CREATE TABLE vista_guard_unchecked_hour (
	hour DATETIME NOT NULL, 
	tenant TEXT NOT NULL, 
	judge TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	claims BIGINT NOT NULL, 
	PRIMARY KEY (hour, tenant, judge, reason)
);
INSERT INTO "vista_guard_unchecked_hour" VALUES('2026-05-01 12:00:00.000000','acme','scripted 1','no answer',2);
INSERT INTO "vista_guard_unchecked_hour" VALUES('2026-05-01 13:00:00.000000','','scripted 1','no answer',3);
CREATE INDEX vista_guard_reports_conversation ON vista_guard_reports (conversation_key, created_at);
CREATE INDEX vista_guard_reports_created_at ON vista_guard_reports (created_at);
CREATE INDEX vista_guard_conversations_newest ON vista_guard_conversations (last_at DESC, conversation_key DESC);
CREATE INDEX vista_guard_conversations_tenant ON vista_guard_conversations (tenant, last_at DESC, conversation_key DESC);
CREATE INDEX vista_guard_findings_label ON vista_guard_findings (label, created_at DESC, report DESC);
CREATE INDEX vista_guard_turn_texts_expires ON vista_guard_turn_texts (expires_at);
CREATE INDEX vista_guard_turns_attention ON vista_guard_turns (created_at DESC, id DESC) WHERE action != 'ALLOW';
CREATE INDEX vista_guard_turns_conversation ON vista_guard_turns (conversation_key, created_at, id);
CREATE INDEX vista_guard_turns_newest ON vista_guard_turns (created_at DESC, id DESC);
CREATE UNIQUE INDEX vista_guard_turns_report_id ON vista_guard_turns (report_id);
CREATE INDEX vista_guard_turns_tenant ON vista_guard_turns (tenant, created_at DESC, id DESC);
CREATE INDEX vista_guard_review_events_report ON vista_guard_review_events (report, id);
CREATE UNIQUE INDEX vista_guard_annotation_tasks_batch ON vista_guard_annotation_tasks (batch, report);
CREATE INDEX vista_guard_annotation_tasks_report ON vista_guard_annotation_tasks (report);
CREATE UNIQUE INDEX vista_guard_annotations_task ON vista_guard_annotations (task, annotator);
CREATE INDEX vista_guard_annotations_report ON vista_guard_annotations (report);
CREATE INDEX vista_guard_annotation_claims_report ON vista_guard_annotation_claims (report);
CREATE INDEX vista_guard_consensus_report ON vista_guard_consensus (report);
CREATE INDEX vista_guard_reviews_urgent ON vista_guard_reviews (state, urgency DESC, queued_at, report);
CREATE INDEX vista_guard_reviews_of_tenant ON vista_guard_reviews (tenant, state, urgency DESC, queued_at, report);
CREATE INDEX vista_guard_failures_newest ON vista_guard_failures (at DESC, id DESC);
CREATE INDEX vista_guard_failures_report ON vista_guard_failures (report);
CREATE INDEX vista_guard_failures_conversation ON vista_guard_failures (conversation_key);
COMMIT;
