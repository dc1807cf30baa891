// Lets the search work where pages are opened as files: browsers refuse workers there, so that the worker's script runs
// in a hidden frame. Material's offline plugin would load such a script from the network; the name says that it is here.

if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.inside.document.createElement("script");
      script.src = new URL(url, location.href);
      this.isLoaded = new Promise((resolve) => script.addEventListener("load", resolve));
      this.inside.document.body.append(script);
    }

    postMessage(data) {
      this.isLoaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}
