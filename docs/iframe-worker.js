// A browser starts no worker for a page that is opened from disk. There, a hidden frame runs the script of the search instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = `<script>const postMessage = (data) => parent.postMessage(data, "*")</script><script src="${url}"></script>`;
      this.ready = new Promise((resolve) => frame.addEventListener("load", () => resolve(frame.contentWindow)));
      window.addEventListener("message", (event) => {
        if (event.source === frame.contentWindow) this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.ready.then((frame) => frame.postMessage(data, "*"));
    }
  };
}
