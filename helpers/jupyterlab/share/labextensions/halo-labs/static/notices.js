// Notes in JupyterLab's corner of work that takes long (helpers/simulator/compile/notices.py).

export const TARGET = 'halo-labs:notice';

export function listen(panel, Notification) {
  const register = kernel => {
    kernel?.registerCommTarget(TARGET, (comm, message) => {
      const note = Notification.emit(message.content.data.text, 'in-progress', { autoClose: false });
      comm.onMsg = more => {
        Notification.update({ id: note, message: more.content.data.text });
      };
      comm.onClose = () => {
        Notification.dismiss(note);
      };
    });
  };
  register(panel.sessionContext.session?.kernel);
  panel.sessionContext.kernelChanged.connect((_, change) => register(change.newValue));
}
